#!/bin/sh
# A deployment is done when the app answers that it is configured; a cold start may take a while.
set -eu
: "${APP_URI:?azd sets it from the outputs of infra/main.bicep}"
health="$APP_URI/api/health"
for _ in $(seq 1 30); do
  status=$(curl --silent --output /dev/null --max-time 20 --write-out '%{http_code}' "$health" || true)
  if [ "$status" = 200 ]; then
    echo "$health is well"
    exit 0
  fi
  sleep 10
done
echo "$health still answers $status: see its body, and the log stream of $AZURE_FUNCTION_APP_NAME" >&2
exit 1
