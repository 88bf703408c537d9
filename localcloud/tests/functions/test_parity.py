"""The dev host's view of an app, compared with the code of the real Python worker.

The worker's library is `azure-functions-runtime`. It requires Python 3.13 but works on 3.11, so it is not a
dependency: `make parity` installs it into a separate folder and runs these tests.
"""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localcloud.functions.loader import LoadedApp
from tests.functions.conftest import Load
from tests.functions.support import HEADER, write_app

worker = pytest.importorskip("azure_functions_runtime.functions", reason="run it by: make parity")

# The worker needs only the numbers of the binding directions from its gRPC messages.
PROTOS = SimpleNamespace(BindingInfo=SimpleNamespace(undefined=0, out=1, inout=2))

GOOD = (
    HEADER
    + """
@app.route(route="a/{id}")
async def with_context(req: func.HttpRequest, context: func.Context) -> func.HttpResponse: ...

@app.route(route="b")
def without_annotations(req): ...

@app.timer_trigger(arg_name="timer", schedule="0 * * * * *")
def tick(timer: func.TimerRequest) -> None: ...

@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="BUS")
async def on_message(msg: func.ServiceBusMessage) -> None: ...
"""
)


def index(app: Any) -> list[Any]:
    worker_meta = pytest.importorskip("azure_functions_runtime.bindings.meta")
    worker_meta.load_binding_registry()
    registry = worker.Registry()
    app.functions_bindings = None  # get_functions() works only once, and the dev host has called it
    return [registry.add_indexed_function(function, PROTOS) for function in app.get_functions()]


def assert_parity(loaded: LoadedApp) -> None:
    ours = {
        function.name: (
            function.plan.is_async,
            function.plan.takes_context,
            function.plan.returns_response,
            function.plan.trigger_parameter,
        )
        for function in loaded.functions
    }
    theirs = {
        info.name: (
            info.is_async,
            info.requires_context,
            info.has_return,
            next(iter(info.input_types)),
        )
        for info in index(loaded.app)
    }
    assert ours
    assert ours == theirs


def test_functions_and_their_arguments_are_those_of_the_worker(tmp_path: Path, load: Load) -> None:
    assert_parity(load(write_app(tmp_path, GOOD), BUS="Endpoint=sb://x"))


@pytest.mark.skipif("APP" not in os.environ, reason="APP=folder names a further app")
def test_the_worker_reads_the_named_app_in_the_same_way(load: Load) -> None:
    assert_parity(load(Path(os.environ["APP"]), SERVICEBUS_CONNECTION="Endpoint=sb://x"))
