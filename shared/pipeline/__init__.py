"""How work moves through the stages: topology, events, runner, retries, states and readiness.

Start with `topology` (the stages and queues), `runner` (everything around a handler) and `retry`.
"""
