# The search index is no resource that Bicep could create: the code defines it, and the operator's roles make it.
$ErrorActionPreference = 'Stop'
if (-not $env:OPERATOR_PRINCIPAL_ID) {
  Write-Host 'No operator is named: make the search index as docs/deploy.md says.'
  exit 0
}
$python = if (Test-Path '.venv/Scripts/python.exe') { '.venv/Scripts/python.exe' } else { 'python' }
# New roles take a few minutes to be known everywhere.
foreach ($attempt in 1..20) {
  & $python -m shared.upkeep.provisioning
  if ($LASTEXITCODE -eq 0) {
    Write-Host 'The search index is there.'
    exit 0
  }
  Start-Sleep -Seconds 15
}
Write-Host 'The search index could not be made: docs/deploy.md says how to do it later.'
exit 1
