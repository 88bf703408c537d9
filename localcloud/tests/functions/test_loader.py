"""Loading of apps, and errors that the real worker ignores silently."""

from collections.abc import Callable
from pathlib import Path

import pytest

from localcloud.functions.definitions import HttpTrigger, ServiceBusTrigger, TimerTrigger
from tests.functions.conftest import Load, Problems
from tests.functions.support import HEADER, write_app

BLUEPRINT = """
import azure.functions as func

{name} = func.Blueprint()


@{name}.route(route="{name}")
def on_{name}(req: func.HttpRequest) -> str:
    return "ok"
"""
QUEUE = (
    HEADER
    + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="BUS"{more})
def on_message(msg{annotation}):
    pass
"""
)


def test_every_trigger_is_read_as_declared(tmp_path: Path, load: Load) -> None:
    code = (
        HEADER
        + """
@app.route(route="items/{id:int}", methods=["GET", "POST"], auth_level=func.AuthLevel.ADMIN)
def items(req: func.HttpRequest) -> func.HttpResponse: ...

@app.route()
def plain(req): ...

@app.timer_trigger(arg_name="timer", schedule="%WHEN%", run_on_startup=True, use_monitor=False)
async def clock(timer: func.TimerRequest, context: func.Context) -> None: ...

@app.function_name("renamed")
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%Q%", connection="BUS",
                               auto_complete_messages=False)
def on_event(msg): ...
"""
    )
    app = load(write_app(tmp_path, code), WHEN="0 */5 * * * *", Q="q", BUS="Endpoint=sb://x")
    functions = {function.name: function for function in app.functions}
    assert functions["items"].trigger == HttpTrigger("items/{id:int}", frozenset({"GET", "POST"}), "admin")
    assert functions["plain"].trigger == HttpTrigger("plain", None, "anonymous")
    assert functions["clock"].trigger == TimerTrigger("0 */5 * * * *", run_on_startup=True, use_monitor=False)
    assert functions["clock"].plan.is_async
    assert functions["clock"].plan.takes_context
    assert functions["renamed"].trigger == ServiceBusTrigger("BUS", "q", auto_complete=False)


def test_settings_of_the_file_are_set_when_the_app_is_imported(tmp_path: Path, load: Load) -> None:
    code = (
        HEADER
        + """
@app.route(route="%ROUTE%")
def f(req: func.HttpRequest) -> str: ...
"""
    )
    app = load(write_app(tmp_path, code, settings={"Values": {"ROUTE": "from-file"}}))
    assert app.functions[0].trigger == HttpTrigger("from-file", None, "anonymous")


def test_a_registered_blueprint_is_part_of_the_app(tmp_path: Path, load: Load) -> None:
    code = HEADER + "from extra import extra\napp.register_functions(extra)\n"
    app = load(write_app(tmp_path, code, extra=BLUEPRINT.format(name="extra")))
    assert [function.name for function in app.functions] == ["on_extra"]


def test_an_unregistered_blueprint_is_rejected_with_its_functions(tmp_path: Path, problems: Problems) -> None:
    code = HEADER + "import extra\n"
    write_app(tmp_path, code, extra=BLUEPRINT.format(name="extra"))
    expected = (
        "module extra: blueprint 'extra' is not registered, so on_extra would be missing without an error; "
        "call app.register_functions(extra) after they are defined"
    )
    assert problems() == [expected]


def test_functions_added_to_a_blueprint_after_its_registration_are_refused(
    tmp_path: Path, problems: Problems
) -> None:
    late = """
from extra import extra
app.register_functions(extra)

@extra.route(route="late")
def late(req: func.HttpRequest) -> str: ...
"""
    write_app(tmp_path, HEADER + late, extra=BLUEPRINT.format(name="extra"))
    found = problems()
    assert len(found) == 1
    assert "so late would be missing without an error" in found[0]


def test_a_folder_that_hides_the_script_is_refused(tmp_path: Path, problems: Problems) -> None:
    write_app(tmp_path)
    (tmp_path / "function_app").mkdir()
    expected = (
        "function_app/: the folder hides the file of the same name; "
        "rename the folder and keep function_app.py at the root"
    )
    assert problems() == [expected]


def test_a_folder_instead_of_the_script_is_refused(tmp_path: Path, problems: Problems) -> None:
    write_app(tmp_path)
    (tmp_path / "function_app.py").unlink()
    (tmp_path / "function_app").mkdir()
    (tmp_path / "function_app" / "__init__.py").write_text(HEADER)
    assert problems()[0].startswith("function_app/: is a folder, not a file")


@pytest.mark.parametrize("second", ["other = func.FunctionApp()", "alias = app"])
def test_two_function_apps_are_refused(tmp_path: Path, problems: Problems, second: str) -> None:
    write_app(tmp_path, f"{HEADER}\n{second}\n")
    assert "defines more than one FunctionApp (app, " in problems()[0]


def test_duplicate_names_are_all_refused_at_once(tmp_path: Path, problems: Problems) -> None:
    code = HEADER
    for name in ("one", "two", "one", "Two", "three"):
        code += f"""
@app.function_name("{name}")
@app.route(route="r{len(code)}")
def f{len(code)}(req: func.HttpRequest) -> str: ...
"""
    write_app(tmp_path, code)
    assert problems() == [
        "function one: 2 functions have this name; rename the others",
        "function two: 2 functions have this name; rename the others",
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import azure.functions", "function_app.py: defines no FunctionApp"),
        (HEADER + "import nowhere_to_be_found", "its import failed (ModuleNotFoundError: No module named"),
        (HEADER + "raise SystemExit(3)", "its import failed (SystemExit: 3)"),
        (HEADER + "def broken(:", "its import failed (SyntaxError"),
        (
            HEADER + "@app.queue_trigger(arg_name='m', queue_name='q', connection='c')\ndef f(m): ...",
            "function f: binding type 'queueTrigger' is not supported by the dev host",
        ),
        (
            HEADER
            + "@app.route(route='x')\n"
            + "@app.service_bus_queue_output(arg_name='o', queue_name='q', connection='c')\n"
            + "def f(req: func.HttpRequest, o: func.Out[str]) -> str: ...",
            "function f: binding type 'serviceBus' is not supported by the dev host",
        ),
        (HEADER + "@app.function_name('f')\ndef f(req): ...", "function f: has no trigger"),
        (
            HEADER + "@app.function_name('1st')\n@app.route(route='x')\ndef f(req): ...",
            "function 1st: the host does not accept this name",
        ),
        (HEADER + "@app.route(route='x')\ndef f(request): ...", "binding 'req' has no parameter"),
        (HEADER + "@app.route(route='x')\ndef f(req, other): ...", "parameter 'other' has no binding"),
        (
            HEADER + "@app.route(route='x')\ndef f(req: int): ...",
            "parameter 'req' of httpTrigger is annotated",
        ),
        (HEADER + "@app.route(route='x')\ndef f(req: 'Nowhere'): ...", "its annotations cannot be evaluated"),
        (HEADER + "@app.route(route='a/{id:nope}')\ndef f(req): ...", "the dev host has int, minlength(n)"),
        (
            HEADER + "@app.timer_trigger(arg_name='t', schedule='every day')\ndef f(t): ...",
            "function f: schedule 'every day'",
        ),
        (
            HEADER + "@app.timer_trigger(arg_name='t', schedule='%NOT_SET%')\ndef f(t): ...",
            "%NOT_SET% refers to a setting that is not set",
        ),
        (QUEUE.format(more="", annotation=": str"), "annotate it as func.ServiceBusMessage"),
        (QUEUE.format(more=", cardinality='many'", annotation=""), "cardinality 'MANY' is not supported"),
        (QUEUE.format(more=", data_type='binary'", annotation=""), "dataType 'BINARY' is not supported"),
        (QUEUE.format(more=", is_sessions_enabled=True", annotation=""), "isSessionsEnabled True is not"),
        (
            HEADER + "@app.service_bus_topic_trigger(arg_name='m', topic_name='t', subscription_name='s', "
            "connection='BUS')\ndef f(m): ...",
            "function f: has no queue name",
        ),
        (
            HEADER + "@app.generic_trigger(arg_name='req', type='httpTrigger', route='x')\n"
            "@app.generic_output_binding(arg_name='res', type='http')\n"
            "def f(req: func.HttpRequest, res: func.Out[func.HttpResponse]) -> None: ...",
            "binding type \"http as 'res'\" is not supported",
        ),
        (
            "import azure.functions as func\napp = func.WsgiFunctionApp(lambda environ, start: [])",
            "app is a WsgiFunctionApp, which the dev host does not run",
        ),
    ],
)
def test_invalid_code_is_rejected(tmp_path: Path, problems: Problems, code: str, expected: str) -> None:
    write_app(tmp_path, code)
    found = problems(BUS="Endpoint=sb://x")
    assert any(expected in problem for problem in found), found


def test_a_connection_that_is_not_set_is_refused(tmp_path: Path, problems: Problems) -> None:
    write_app(tmp_path, QUEUE.format(more="", annotation=""))
    expected = "function on_message: connection 'BUS' is not set; set it to a connection string"
    assert problems() == [expected]


def test_all_problems_are_listed_at_once(tmp_path: Path, problems: Problems) -> None:
    code = (
        QUEUE.format(more="", annotation="")
        + """
@app.timer_trigger(arg_name="t", schedule="never")
def tick(t): ...
"""
    )
    write_app(tmp_path, code, host={"version": "1.0"}, settings="{")
    found = problems()
    assert len(found) == 4
    starts = ["local.settings.json:", "host.json:", "function on_message:", "function tick:"]
    assert all(problem.startswith(start) for problem, start in zip(found, starts, strict=True))


def test_a_route_beneath_the_hosts_own_paths_is_refused(tmp_path: Path, problems: Problems) -> None:
    code = HEADER + "@app.route(route='admin/x')\ndef f(req): ..."
    write_app(tmp_path, code, host={"version": "2.0", "extensions": {"http": {"routePrefix": ""}}})
    assert "collides with the host's own" in problems()[0]


def test_a_retry_policy_is_warned_of(tmp_path: Path, load: Load) -> None:
    code = (
        HEADER
        + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="BUS")
@app.retry(strategy="fixed_delay", max_retry_count="3", delay_interval="00:00:01")
def on_message(msg): ...
"""
    )
    app = load(write_app(tmp_path, code), BUS="Endpoint=sb://x")
    assert len(app.warnings) == 1
    assert "function on_message: its retry policy is ignored" in app.warnings[0]


def test_the_script_may_have_another_name(tmp_path: Path, load: Load) -> None:
    write_app(tmp_path)
    (tmp_path / "function_app.py").rename(tmp_path / "other_main.py")
    app = load(PYTHON_SCRIPT_FILE_NAME="other_main.py")
    assert any("the app has no functions" in warning for warning in app.warnings)


@pytest.mark.parametrize("name", ["sub/main.py", "../main.py", "main.txt"])
def test_a_script_that_is_not_at_the_root_is_refused(tmp_path: Path, problems: Problems, name: str) -> None:
    write_app(tmp_path)
    assert "is not a file at the root" in problems(PYTHON_SCRIPT_FILE_NAME=name)[0]


def test_host_json_may_name_the_functions_to_run(tmp_path: Path, load: Load) -> None:
    code = HEADER + "".join(
        f"\n@app.route(route='{name}')\ndef {name}(req): ...\n" for name in ("one", "two", "three")
    )
    app = load(write_app(tmp_path, code, host={"version": "2.0", "functions": ["TWO"]}))
    assert [function.name for function in app.functions] == ["two"]


def test_a_setting_disables_a_function(tmp_path: Path, load: Load) -> None:
    code = HEADER + "@app.route(route='x')\ndef f(req): ..."
    write_app(tmp_path, code, settings={"Values": {"AzureWebJobs.f.Disabled": "true"}})
    app = load()
    assert app.functions[0].disabled
    assert app.routes == ()


def test_an_app_for_another_language_is_refused(tmp_path: Path, problems: Problems) -> None:
    write_app(tmp_path)
    assert "FUNCTIONS_WORKER_RUNTIME is 'node'" in problems(FUNCTIONS_WORKER_RUNTIME="node")[0]


def test_a_root_that_does_not_exist_is_refused(tmp_path: Path, load: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="is not a folder"):
        load(tmp_path / "nowhere")


EXTENSION = """
from azure.servicebus import ServiceBusReceivedMessage as Message

class SdkType: ...
class GrpcClientType: ...
class ServiceBusReceivedMessage(SdkType, Message): ...
class ServiceBusMessageActions(GrpcClientType): ...
"""


def test_parameters_of_the_settlement_extension_are_recognised_by_their_types(
    tmp_path: Path, load: Load
) -> None:
    # Only the types matter, so a substitute replaces the preview package and its dependencies.
    package = tmp_path / "azurefunctions" / "extensions" / "lookalike"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(EXTENSION)
    code = (
        HEADER
        + """
import azurefunctions.extensions.lookalike as sb

@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="BUS")
def settle(msg: sb.ServiceBusReceivedMessage, actions: sb.ServiceBusMessageActions): ...
"""
    )
    plan = load(write_app(tmp_path, code), BUS="Endpoint=sb://x").functions[0].plan
    assert plan.sdk_message
    assert plan.actions_parameter == "actions"
