"""Archives through the running app, as `make run` shows it: upload, progress, outcomes and one report.

`python -m tools.run_archives PATH` talks to the app at FUNCTIONS_URL, over the HTTP API that any user has.
"""
