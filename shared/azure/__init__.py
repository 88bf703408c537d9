"""The clients of all services, and the only package that imports the SDKs of Azure.

Start with `connections.clients`, which every trigger calls, and `classify.classify` for errors.
"""
