"""Fixtures of the dev host's tests."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcloud.functions.loader import LoadedApp, load_app
from localcloud.functions.problems import LoadError
from tests.functions.support import EXAMPLE_APP, NO_BROKER, Host, running_host

Load = Callable[..., LoadedApp]
Problems = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """A function that loads the app in tmp_path in this process, and unloads it after the test."""
    own = sys.modules.pop("function_app", None)  # this project's module, if another test has imported it
    path, modules = list(sys.path), set(sys.modules)
    former = dict(os.environ)

    def load_it(root: Path = tmp_path, **environ: str) -> LoadedApp:
        return load_app(root, dict(environ))

    yield load_it
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
    if own is not None:
        sys.modules["function_app"] = own
    assert dict(os.environ) == former | {"PYTEST_CURRENT_TEST": os.environ["PYTEST_CURRENT_TEST"]}


@pytest.fixture
def problems(load: Load) -> Problems:
    """A function that returns the problems of the app in tmp_path."""

    def find(**environ: str) -> list[str]:
        with pytest.raises(LoadError) as caught:
            load(**environ)
        return caught.value.problems

    return find


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The example app in a dev host without a broker."""
    folder = tmp_path_factory.mktemp("host")
    environ = {
        "BUS": NO_BROKER,
        "ORDERS_QUEUE": "orders",
        "TICK_SCHEDULE": "0 0 0 1 1 *",
        "EXAMPLE_OUTPUT": str(folder),
    }
    with running_host(EXAMPLE_APP, folder / "data", **environ) as running:
        yield running
