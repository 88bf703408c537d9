"""The Functions dev host: runs a Functions app (Python v2 model) with the semantics of the real host.

`python -m localcloud.functions --root DIR`. docs/functions-host.md lists the supported features.
"""
