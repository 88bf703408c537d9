"""The Functions entry point: one FunctionApp, every blueprint registered, and telemetry started."""

import azure.functions as func

from shared.clients.telemetry.setup import start_telemetry
from stages.blueprints import BLUEPRINTS as STAGE_BLUEPRINTS
from web.blueprints import BLUEPRINTS as WEB_BLUEPRINTS

start_telemetry()

app = func.FunctionApp()
for blueprint in (*STAGE_BLUEPRINTS, *WEB_BLUEPRINTS):
    app.register_functions(blueprint)
