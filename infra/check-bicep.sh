#!/usr/bin/env bash
# Compiles and lints with Microsoft's Bicep, and fails on any warning. Reports files that the formatter would
# change.
set -euo pipefail
cd "$(dirname "$0")/.."
said=$(mktemp)
trap 'rm -f "$said"' EXIT
ended=0
for command in build lint; do
  options=(--file infra/main.bicep)
  [ "$command" = build ] && options+=(--stdout)
  az bicep "$command" "${options[@]}" >/dev/null 2>>"$said" || ended=1
done
grep -E ' : (Warning|Error) ' "$said" | sort -u && ended=1
if [ "$ended" != 0 ]; then
  echo "az bicep build and lint must end without an error and without a warning:" >&2
  cat "$said" >&2
  exit 1
fi
for file in infra/*.bicep bicep/*.bicep; do
  if ! az bicep format --file "$file" --stdout 2>/dev/null | diff -q "$file" - >/dev/null; then
    echo "::notice file=$file::az bicep format would change this file"
  fi
done
echo "Microsoft's Bicep reports no problems in $(ls infra/*.bicep bicep/*.bicep | wc -l) files."
