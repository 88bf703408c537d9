"""Mutation testing of the modules that decide, to see that some test fails when a decision is changed.

`python -m tools.mutants` (or `make mutants`) changes one thing at a time, runs the module's own fast tests on
the change, and shows what no test noticed. docs/testing.md has the results.

Why not a library: mutmut 3 leaves code outside of functions alone, and our tables and thresholds are such
code. cosmic-ray rewrites the file on disk and starts a new interpreter for each mutant, which takes longer
here than the tests; it does not remove a keyword argument such as `condition=`, or touch a query's text.
"""
