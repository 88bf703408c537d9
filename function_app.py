"""The entry point of the Functions host: start telemetry and register the Functions of this app's part."""

import azure.functions as func

from shared.azure.telemetry.setup import start_telemetry
from shared.settings.app import app_part

start_telemetry()

app = func.FunctionApp()
part = app_part()
# The imports are conditional, so that a worker does not load the web code, and the reverse.
if part != "web":
    from stages.blueprints import BLUEPRINTS as STAGES

    for blueprint in STAGES:
        app.register_functions(blueprint)
if part != "worker":
    from web.blueprints import BLUEPRINTS as WEB

    for blueprint in WEB:
        app.register_functions(blueprint)
