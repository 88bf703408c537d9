"""Every change of a stored document's state: one function each, with its precondition.

The conditions of the patches are the concurrency control of the pipeline. No other package writes these
fields (tests/pipeline/state/test_only_home.py).
"""
