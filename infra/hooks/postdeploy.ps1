# A deployment is done when the app answers that it is configured; a cold start may take a while.
$ErrorActionPreference = 'Stop'
if (-not $env:APP_URI) { throw 'APP_URI is missing: azd sets it from the outputs of infra/main.bicep' }
$health = "$env:APP_URI/api/health"
foreach ($attempt in 1..30) {
  $answer = Invoke-WebRequest -Uri $health -TimeoutSec 20 -SkipHttpErrorCheck -ErrorAction SilentlyContinue
  if ($answer.StatusCode -eq 200) {
    Write-Host "$health is well"
    exit 0
  }
  Start-Sleep -Seconds 10
}
Write-Error "$health still answers $($answer.StatusCode): see its body, and the log stream of $env:AZURE_FUNCTION_APP_NAME"
exit 1
