"""The Functions dev host: runs a Functions app (Python v2 model) with the semantics of the real host.

`python -m localcloud.functions --root DIR`. What it supports and what it does not stands in
docs/functions-host.md.
"""
