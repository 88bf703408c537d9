"""Derives from a function's signature how to call it, and reports errors as the real worker does."""

import inspect
import typing
from collections.abc import Callable
from typing import Any

from azure.functions.meta import get_binding_registry

from localcloud.functions.bindings import MCP_TRIGGERS
from localcloud.functions.definitions import CallPlan
from localcloud.functions.problems import Problems

_EXTENSIONS = "azurefunctions.extensions"
_EXPECTED = {
    "httpTrigger": "func.HttpRequest",
    "timerTrigger": "func.TimerRequest",
    "serviceBusTrigger": "func.ServiceBusMessage",
    "mcpToolTrigger": "str",
    "mcpResourceTrigger": "str",
}


def plan_call(
    name: str,
    call: Callable[..., Any],
    bindings: list[dict[str, Any]],
    trigger: dict[str, Any],
    problems: Problems,
) -> CallPlan | None:
    """Return the plan, or None if the signature does not match the bindings."""
    where = f"function {name}"
    hints = _hints(where, call, problems)
    if hints is None:
        return None
    bound = {binding["name"] for binding in bindings if binding["name"] != "$return"}
    free = [parameter for parameter in inspect.signature(call).parameters if parameter not in bound]
    takes_context = "context" in free
    if takes_context:
        free.remove("context")
    actions = next((name for name in free if _is_extension(hints.get(name), "GrpcClientType")), None)
    if actions:
        free.remove(actions)
    fits = _names_fit(where, call, bound, free, problems)
    annotation = hints.get(trigger["name"])
    if not fits or not _annotation_fits(where, trigger, annotation, problems):
        return None
    return CallPlan(
        call=call,
        is_async=inspect.iscoroutinefunction(call),
        trigger_parameter=trigger["name"],
        sdk_message=_is_sdk_message(annotation),
        takes_context=takes_context,
        actions_parameter=actions,
        returns_response=trigger["type"] in MCP_TRIGGERS
        or any(binding["name"] == "$return" for binding in bindings),
    )


def _hints(where: str, call: Callable[..., Any], problems: Problems) -> dict[str, Any] | None:
    try:
        return typing.get_type_hints(call)
    except Exception as error:  # noqa: BLE001 - an annotation is code of the app and can raise anything
        problems.error(where, f"its annotations cannot be evaluated ({error!r})", "correct them")
        return None


def _names_fit(
    where: str, call: Callable[..., Any], bound: set[str], free: list[str], problems: Problems
) -> bool:
    missing = bound - set(inspect.signature(call).parameters)
    for name in sorted(missing):
        problems.error(where, f"binding {name!r} has no parameter", "add a parameter of that name")
    for name in free:
        problems.error(where, f"parameter {name!r} has no binding", "remove it, or give a binding this name")
    return not missing and not free


def _annotation_fits(where: str, trigger: dict[str, Any], annotation: Any, problems: Problems) -> bool:
    kind = trigger["type"]
    if annotation is None or _is_sdk_message(annotation):
        return True
    try:
        fits = bool(get_binding_registry().get(kind).check_input_type_annotation(annotation))
    except TypeError:  # the converter passes a non-class to issubclass()
        fits = False
    if not fits:
        remedy = f"annotate it as {_EXPECTED[kind]}, the type that the worker passes"
        problems.error(where, f"parameter {trigger['name']!r} of {kind} is annotated {annotation!r}", remedy)
    return fits


def _is_sdk_message(annotation: Any) -> bool:
    return _is_extension(annotation, "SdkType")


def _is_extension(annotation: Any, base: str) -> bool:
    """Return whether this is a type of the optional bindings extensions, without importing them."""
    if not isinstance(annotation, type):
        return False
    return any(
        kind.__name__ == base and kind.__module__.startswith(_EXTENSIONS) for kind in annotation.__mro__
    )
