"""Modules that are imported when they are first used.

The SDKs take longer to import than all of the app. A start does not need them, and a function only some:

    if TYPE_CHECKING:
        from azure.cosmos import exceptions as cosmos
    else:
        cosmos = lazy("azure.cosmos.exceptions")
"""

from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)  # asked for once
        return found


def lazy(name: str) -> ModuleType:
    return _LazyModule(name)
