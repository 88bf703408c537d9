"""The operator's command line: `python -m ops`, or `rough-consensus` where it is installed.

A command imports what it needs when it runs, so that help and usage errors are there at once.
"""
