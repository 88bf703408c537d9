"""Fetch, receive and store archives: `fetch_runs.run_operation` and `uploads.store_upload`."""
