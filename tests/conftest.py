import gc
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud import AppCloud, local_cloud, servicebus
from tests.support.scheduling import FilesLongestFirst
from tests.support.sdk_pace import without_pauses
from tests.support.services import RunningService


def pytest_collection_finish() -> None:
    """Freeze the imported modules, so that the collector skips them after every test."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesLongestFirst | None:
    """Use our scheduler unless another one is requested."""
    return FilesLongestFirst(config, log) if config.getvalue("dist") == "load" else None


@pytest.fixture(scope="session", autouse=True)
def sdk_without_pauses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        without_pauses(patch)
        yield


@pytest.fixture(scope="session")
def cloud() -> Iterator[AppCloud]:
    """Cosmos DB, AI Search and Storage, shared by the tests of one worker."""
    with local_cloud() as running:
        yield running


@pytest.fixture(scope="module")
def bus_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A Service Bus namespace with the app's own entities, shared by the tests of one module."""
    folder: Path = tmp_path_factory.mktemp("bus")
    with servicebus(folder) as running:
        yield running


@pytest.fixture(autouse=True)
def log_as_before() -> Iterator[None]:
    """Restore the logging. A command of `ops` configures its process, which here runs all tests."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
