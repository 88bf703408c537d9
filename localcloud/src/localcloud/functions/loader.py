"""Loads an app like the real Python worker, but reports errors that the worker ignores silently."""

import importlib
import json
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import azure.functions as func
from azure.functions.decorators.function_app import DecoratorApi, FunctionBuilder

from localcloud.functions.bindings import parse_trigger, refuse_unsupported, warn_of_retry_policy
from localcloud.functions.callplan import plan_call
from localcloud.functions.definitions import Function, HttpTrigger
from localcloud.functions.hostconfig import HostConfig, load_host_config
from localcloud.functions.problems import Problems
from localcloud.functions.routes import Route, warn_of_overlaps
from localcloud.functions.settings import load_local_settings, resolve_names
from localcloud.functions.template import TemplateError, parse_template

log = logging.getLogger(__name__)

SCRIPT_NAME_SETTING = "PYTHON_SCRIPT_FILE_NAME"
DEFAULT_SCRIPT = "function_app.py"
_SCRIPT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\.py")
_FUNCTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
_BUILT_IN_ROUTES = frozenset({"admin", "runtime"})


@dataclass(frozen=True)
class LoadedApp:
    root: Path
    config: HostConfig
    app: func.FunctionRegister
    functions: tuple[Function, ...]
    routes: tuple[Route, ...]
    warnings: tuple[str, ...]


def load_app(root: Path, environ: MutableMapping[str, str] | None = None) -> LoadedApp:
    """Load the app in this folder. LoadError lists all problems."""
    environ = os.environ if environ is None else environ
    problems = Problems()
    if not root.is_dir():
        problems.error("--root", f"{root} is not a folder", "specify the folder that contains host.json")
        problems.raise_if_any(str(root))
    load_local_settings(root, environ, problems)
    config = load_host_config(root, environ, problems)
    _check_runtime(environ, problems)
    module = _import_script(root, environ, problems)
    app = _find_app(module, problems) if module else None
    functions = _define_all(app, root, config, environ, problems) if app else []
    routes = _routes(functions, config, problems)
    problems.raise_if_any(str(root))
    assert app is not None  # noqa: S101 - without an app there is a problem
    return LoadedApp(root, config, app, tuple(functions), tuple(routes), tuple(problems.warnings))


def _check_runtime(environ: MutableMapping[str, str], problems: Problems) -> None:
    runtime = environ.setdefault("FUNCTIONS_WORKER_RUNTIME", "python")
    if runtime.lower() != "python":
        problem = f"FUNCTIONS_WORKER_RUNTIME is {runtime!r}"
        problems.error("settings", problem, "set it to python: the dev host runs no other language")
    environ.setdefault("AZURE_FUNCTIONS_ENVIRONMENT", "Development")


def _import_script(root: Path, environ: MutableMapping[str, str], problems: Problems) -> ModuleType | None:
    name = environ.get(SCRIPT_NAME_SETTING) or DEFAULT_SCRIPT
    if not _SCRIPT_NAME.fullmatch(name):
        problems.error(
            SCRIPT_NAME_SETTING, f"{name!r} is not a file at the root", "set it to a file name such as app.py"
        )
        return None
    script, folder = root / name, root / Path(name).stem
    if folder.is_dir() and (script.exists() or any(folder.glob("*.py"))):
        problem = (
            "the folder hides the file of the same name" if script.exists() else "is a folder, not a file"
        )
        problems.error(f"{folder.name}/", problem, f"rename the folder and keep {name} at the root")
        return None
    if not script.is_file():
        problems.error(name, f"not found in {root}", "create it with one FunctionApp")
        return None
    return _import(root, Path(name).stem, name, problems)


def _import(root: Path, module: str, name: str, problems: Problems) -> ModuleType | None:
    sys.path.insert(0, str(root))
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        log.exception("importing %s failed", name)
        problems.error(
            name, f"its import failed ({type(error).__name__}: {error})", "see the traceback above"
        )
        return None


def _find_app(module: ModuleType, problems: Problems) -> func.FunctionRegister | None:
    names = [name for name, value in vars(module).items() if isinstance(value, func.FunctionRegister)]
    where = Path(module.__file__ or module.__name__).name
    if not names:
        problems.error(where, "defines no FunctionApp", "add app = func.FunctionApp()")
        return None
    if len(names) > 1:
        problem = f"defines more than one FunctionApp ({', '.join(names)})"
        problems.error(where, problem, "keep one; put functions of other modules into blueprints")
        return None
    app: func.FunctionRegister = vars(module)[names[0]]
    if not isinstance(app, func.FunctionApp):
        problem = f"{names[0]} is a {type(app).__name__}, which the dev host does not run"
        problems.error(where, problem, "decorate functions of a func.FunctionApp")
        return None
    _refuse_unregistered_blueprints(app, Path(module.__file__ or "").parent, problems)
    return app


def _refuse_unregistered_blueprints(app: func.FunctionRegister, root: Path, problems: Problems) -> None:
    registered = {id(builder) for builder in _builders(app)}
    for module, name, blueprint in _blueprints(root):
        missing = [builder for builder in _builders(blueprint) if id(builder) not in registered]
        if missing:
            functions = ", ".join(str(_function(builder).get_function_name()) for builder in missing)
            problem = (
                f"blueprint {name!r} is not registered, so {functions} would be missing without an error"
            )
            problems.error(
                f"module {module}", problem, f"call app.register_functions({name}) after they are defined"
            )


def _blueprints(root: Path) -> Iterator[tuple[str, str, DecoratorApi]]:
    seen: set[int] = set()
    for module in list(sys.modules.values()):
        if not _is_within(module, root):
            continue
        for name, value in list(vars(module).items()):
            is_blueprint = isinstance(value, DecoratorApi) and not isinstance(value, func.FunctionRegister)
            if is_blueprint and id(value) not in seen:
                seen.add(id(value))
                yield module.__name__, name, value


def _is_within(module: ModuleType, root: Path) -> bool:
    file: str | None = getattr(module, "__file__", None)
    if not file:
        return False
    return Path(file).is_relative_to(root) and "site-packages" not in Path(file).parts


def _builders(container: DecoratorApi) -> list[FunctionBuilder]:
    return list(container._function_builders)  # noqa: SLF001 - azure.functions has no public access to them


def _function(builder: FunctionBuilder) -> Any:
    return builder._function  # noqa: SLF001


def _define_all(
    app: func.FunctionRegister,
    root: Path,
    config: HostConfig,
    environ: MutableMapping[str, str],
    problems: Problems,
) -> list[Function]:
    if not _are_sound(app, problems):
        return []
    defined = [_define(declared, root, environ, problems) for declared in app.get_functions()]
    wanted = config.functions
    if not defined:
        problems.warn(DEFAULT_SCRIPT, "the app has no functions", "decorate some, or register a blueprint")
    return [f for f in defined if f is not None and (wanted is None or f.name.lower() in wanted)]


def _are_sound(app: func.FunctionRegister, problems: Problems) -> bool:
    """Report what would make get_functions() raise, which names only the first problem.

    Return whether it is safe.
    """
    before = len(problems.errors)
    names = [str(_function(builder).get_function_name()) for builder in _builders(app)]
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            shown = next(shown for shown in names if shown.lower() == name)
            problems.error(f"function {shown}", f"{count} functions have this name", "rename the others")
    for builder in _builders(app):
        name = str(_function(builder).get_function_name())
        if not _FUNCTION_NAME.fullmatch(name):
            remedy = "use a letter, then letters, digits, - and _, 128 in all"
            problems.error(f"function {name}", "the host does not accept this name", remedy)
        if _function(builder).get_trigger() is None:
            problems.error(f"function {name}", "has no trigger", "decorate it with one")
    return len(problems.errors) == before


def _define(
    declared: Any, root: Path, environ: MutableMapping[str, str], problems: Problems
) -> Function | None:
    name: str = declared.get_function_name()
    where = f"function {name}"
    bindings = [json.loads(raw) for raw in declared.get_raw_bindings()]
    bindings = [resolve_names(binding, environ, where, problems) for binding in bindings]
    if not refuse_unsupported(where, bindings, problems):
        return None
    trigger = next(binding for binding in bindings if binding["name"] == declared.get_trigger().name)
    parsed = parse_trigger(where, trigger, name, environ, problems)
    plan = plan_call(name, declared.get_user_function(), bindings, trigger, problems)
    if parsed is None or plan is None:
        return None
    warn_of_retry_policy(where, declared.get_settings_dict("retry_policy"), problems)
    return Function(
        name=name,
        trigger=parsed,
        plan=plan,
        bindings=tuple(bindings),
        directory=str(root),
        disabled=environ.get(f"AzureWebJobs.{name}.Disabled", "").lower() in {"true", "1"},
    )


def _routes(functions: list[Function], config: HostConfig, problems: Problems) -> list[Route]:
    routes = []
    for function in functions:
        if not isinstance(function.trigger, HttpTrigger) or function.disabled:
            continue
        text = function.trigger.route.lstrip("/")
        if not config.route_prefix and text.split("/")[0].lower() in _BUILT_IN_ROUTES:
            problem = f"route {text!r} collides with the host's own"
            problems.error(f"function {function.name}", problem, "choose another first segment")
        try:
            template = parse_template(f"{config.route_prefix}/{text}")
        except TemplateError as error:
            problems.error(f"function {function.name}", f"route {text!r}: {error}", "correct the template")
            continue
        routes.append(Route(function.name, template, function.trigger.methods))
    warn_of_overlaps(routes, problems)
    return routes
