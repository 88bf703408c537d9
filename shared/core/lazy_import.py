"""Imports on first use, and the settings of the garbage collector."""

import gc
from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)  # Later accesses do not come here.
        return found


def lazy(name: str) -> ModuleType:
    return _LazyModule(name)


GARBAGE_AFTER = 200_000
"""About the objects in a slice of messages. Python's default of 700 would scan each object many times."""


def tune_garbage_collector() -> None:
    """Exclude all current objects from collections. Call it after all imports."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
