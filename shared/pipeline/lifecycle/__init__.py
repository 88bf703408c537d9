"""Every change of a stored document's state, as a named function with its precondition.

No other package writes `status`, the attempt fields, `embedding_generated`, the ids of a thread's summary and
report, its requested version, or `outdated` (tests/pipeline/lifecycle/test_only_home.py). The conditions of
the patches are the concurrency control of the pipeline.
"""
