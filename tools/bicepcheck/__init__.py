"""Evaluates a deployment without Azure, and checks it against Azure's rules.

Microsoft's compiler checks the Bicep files themselves: syntax, names, types and required properties
(infra/check-bicep.sh, in the workflow). It cannot check values that depend on an evaluation. This package
checks them:

- values of open enumerations, where the compiler accepts any string - lengths and formats of names and other
strings - values from JSON files (Config.json, containers.json), which the compiler treats as untyped

The tests also compare the evaluated deployment with Config.json, the code's settings and the roles.
"""
