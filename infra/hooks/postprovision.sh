#!/bin/sh
# The search index is no resource that Bicep could create: the code defines it, and the operator's roles make it.
set -eu
if [ -z "${OPERATOR_PRINCIPAL_ID:-}" ]; then
  echo "No operator is named: make the search index as docs/deploy.md says."
  exit 0
fi
python=.venv/bin/python
[ -x "$python" ] || python=python3
# New roles take a few minutes to be known everywhere.
for _ in $(seq 1 20); do
  if "$python" -m shared.upkeep.provisioning; then
    echo "The search index is there."
    exit 0
  fi
  sleep 15
done
echo "The search index could not be made: docs/deploy.md says how to do it later." >&2
exit 1
