"""The Functions entry point: registers the functions of this app's part, and starts telemetry."""

import azure.functions as func

from shared.azure.telemetry.setup import start_telemetry
from shared.settings.app import app_part

start_telemetry()

app = func.FunctionApp()
part = app_part()
# Imported here, so that an app without a part does not load it.
if part != "web":
    from stages.blueprints import BLUEPRINTS as STAGES

    for blueprint in STAGES:
        app.register_functions(blueprint)
if part != "worker":
    from web.blueprints import BLUEPRINTS as WEB

    for blueprint in WEB:
        app.register_functions(blueprint)
