"""The Functions entry point: one FunctionApp, every blueprint registered, nothing else."""

import azure.functions as func

from stages.failures import blueprint as failures
from web.health import blueprint as health

app = func.FunctionApp()
app.register_functions(failures)
app.register_functions(health)
