"""One mutant's trial: its module's tests, in a forked process that has everything else imported already."""

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

import pytest

from tools.mutants.targets import Target

__all__ = ["import_all_but", "run_tests", "verdict_of"]

_MEMORY_BYTES = 4 * 1024**3  # a mutant's endless loop may collect without end
# To look for plugins takes longer than most tests: these are named.
_OPTIONS = (
    "-q", "-x", "--no-header", "--assert=plain", "-p", "no:cacheprovider", "-o", "timeout=0",
    "-p", "pytest_asyncio.plugin", "-p", "pytest_timeout",
)  # fmt: skip
_UNUSABLE = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
_COMMON = ("pytest_asyncio.plugin", "pytest_timeout", "hypothesis", "tests.support.cloud")


class _Substitute(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for one module: with another source, or with a refusal."""

    def __init__(self, target: Target, source: str | None) -> None:
        self._target = target
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._target.module:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=self._target.path)

    def exec_module(self, module: ModuleType) -> None:
        if self._source is None:
            raise ImportError(f"{self._target.module} is not to be imported yet")
        exec(self._code(), vars(module))  # noqa: S102 - our own module, with one change

    def _code(self) -> CodeType:
        return compile(self._source or "", self._target.path, "exec")


def import_all_but(target: Target) -> None:
    """What the tests need and does not depend on the module: each trial would import it again."""
    refusing = _Substitute(target, None)
    sys.meta_path.insert(0, refusing)
    try:
        for name in (*_COMMON, *_app_modules(), *target.preload):
            try:
                importlib.import_module(name)
            except ImportError as error:
                if target.module not in str(error):
                    raise
    finally:
        sys.meta_path.remove(refusing)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    gc.freeze()  # so that a trial's collections leave the parent's pages shared


def _app_modules() -> list[str]:
    paths = (path for room in ("core", "documents", "settings", "clients", "pipeline")
             for path in sorted(Path("shared", room).rglob("*.py")))  # fmt: skip
    return [".".join(path.with_suffix("").parts) for path in paths if path.name != "__init__.py"]


def run_tests(target: Target, source: str, *, seconds: int, output: Path) -> NoReturn:
    """In the forked process: run the target's tests on this source of it, and exit with pytest's code."""
    code = 3
    try:
        # The signal's default action ends the process, whatever it is doing. pytest's own timer is off.
        signal.alarm(seconds)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.meta_path.insert(0, _Substitute(target, source))
        code = int(pytest.main([*_OPTIONS, *target.tests]))
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - nothing may go up into the parent's copy of the stack
        traceback.print_exc()
    finally:
        os._exit(code)


def verdict_of(status: int) -> str:
    """What the process's exit says about the mutant. A test that could not be imported has failed."""
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) == signal.SIGALRM else "killed"
    code = os.WEXITSTATUS(status)
    if code in _UNUSABLE:
        return "unusable"
    return "survived" if code == pytest.ExitCode.OK else "killed"
