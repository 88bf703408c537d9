"""Sends archives through the running app for `make run`: upload, progress, outcomes and a report.

`python -m tools.run_archives PATH` calls the app at FUNCTIONS_URL, over its public HTTP API.
"""
