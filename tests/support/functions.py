"""The Functions that the app declares. The app allows reading its own list only once in a process."""

from typing import Any

import azure.functions as func

import function_app

__all__ = ["app_functions"]


def app_functions() -> list[Any]:
    return [builder.build(func.AuthLevel.ANONYMOUS) for builder in function_app.app._function_builders]
