"""Every change of a stored document's state, as a named function with its precondition.

No other package writes `status`, the attempt fields, `embedding_generated`, a thread's revision and requested
version, or which summary and report it has (tests/pipeline/state/test_only_home.py). The conditions of
the patches are the concurrency control of the pipeline.
"""
