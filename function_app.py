"""The Functions entry point: one FunctionApp, every blueprint registered, nothing else."""

import azure.functions as func

from stages.failures import blueprint as failures
from stages.ingestion import blueprint as ingestion
from web.archives import blueprint as archives
from web.health import blueprint as health
from web.operations import blueprint as operations
from web.sources import blueprint as sources

app = func.FunctionApp()
app.register_functions(failures)
app.register_functions(ingestion)
app.register_functions(archives)
app.register_functions(health)
app.register_functions(operations)
app.register_functions(sources)
