"""Modules that are imported when they are first used, and the garbage collector's settings."""

import gc
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


GARBAGE_AFTER = 200_000
"""Objects, as many as a slice of messages has: with Python's own 700, each is looked at again and again."""


def tune_garbage_collector() -> None:
    """What is there now stays: it is never looked through again. Call it when all is imported."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
