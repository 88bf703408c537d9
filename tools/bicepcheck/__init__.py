"""Works a deployment out without Azure, and holds it against what Azure takes.

Microsoft's compiler judges the Bicep itself: syntax, names, types, required properties (infra/check-bicep.sh,
in the workflow). It lets pass what is known only when a deployment is worked out. That is judged here:

- values of open enumerations, which the compiler takes as any string;
- the lengths and forms of names and other texts;
- values that come out of JSON files (Config.json, containers.json), which the compiler is told not to type.

The tests also compare the worked-out deployment with Config.json, the code's settings and the roles.
"""
