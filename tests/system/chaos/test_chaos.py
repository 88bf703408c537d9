"""Forward progress: whatever is killed and whatever fails on the way, the end is that of a calm run."""

import http.client
import json
import random
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localcloud.up.app import archives_at
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import frozen, wait_for
from tests.support.services import ROOT
from tests.system.chaos.end_state import QUERIES, end_state
from tests.system.chaos.world import FAULTY, World, world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
SAMPLES = archives_at(ROOT / "samples")
ROUNDS = 30
PATIENCE_SECONDS = 300
FROZEN_SECONDS = 1.0


def upload(app: World) -> list[str]:
    """Send the samples until each was taken; their ids."""
    taken = []
    for sample in SAMPLES:
        address = f"{app.app}/api/archives?source={sample.source}&filename={sample.path.name}"
        request = urllib.request.Request(address, data=sample.path.read_bytes(), method="POST")
        taken.append(wait_for(lambda r=request: _try(r), seconds=120, what="the upload")["archive_id"])
    return taken


def _try(request: urllib.request.Request) -> Any:
    """What the app answers; nothing while it is away."""
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except (OSError, http.client.HTTPException):
        return None


def is_complete(app: World, archive: str) -> bool:
    found = _try(urllib.request.Request(f"{app.app}/api/archives/{archive}"))
    return bool(found and found["progress"]["complete"])


def settle(app: World, archives: list[str]) -> dict[str, Any]:
    for archive in archives:
        wait_for(lambda a=archive: is_complete(app, a), seconds=PATIENCE_SECONDS, what=f"archive {archive}")
    return end_state(app.settings())


def kill_and_start(name: str) -> Callable[[World], None]:
    def act(app: World) -> None:
        app.kill(name)
        app.start(name)

    return act


def fails(name: str, **fault: Any) -> Callable[[World], None]:
    return lambda app: app.plan(name, fault)


def stands_still(name: str) -> Callable[[World], None]:
    def act(app: World) -> None:
        with frozen(app.running[name].process):
            time.sleep(FROZEN_SECONDS)  # its connections stay open meanwhile, and nothing is answered

    return act


ACTS: dict[str, Callable[[World], None]] = {
    "the app is killed": kill_and_start("functions"),
    "the database is killed": kill_and_start("cosmos"),
    "the broker is killed": kill_and_start("servicebus"),
    "the index is killed": kill_and_start("search"),
    "the database is away": fails("cosmos", kind="status", operation="docs.*", times=6, args={"status": 503}),
    "the database is busy": fails(
        "cosmos", kind="status", operation="docs.*", times=9, args={"status": 429, "retry_after_ms": 20}
    ),
    "answers of the database are lost": fails("cosmos", kind="reset_after", operation="docs.*", times=4),
    "the index refuses": fails("search", kind="status", operation="docs.index", times=3),
    "the index takes part of a batch": fails("search", kind="partial", operation="docs.index", times=2),
    "the broker drops connections": fails("servicebus", kind="drop", operation="*", times=3),
    "the broker's answers are lost": fails("servicebus", kind="lose-ack", operation="send", times=3),
    "messages come twice": fails("servicebus", kind="deliver-twice", operation="receive", times=5),
    "the app stands still": stands_still("functions"),
    "the database stands still": stands_still("cosmos"),
    "the broker stands still": stands_still("servicebus"),
    "the index stands still": stands_still("search"),
}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with world(tmp_path_factory.mktemp("calm")) as app:
        ended = settle(app, upload(app))
    # What is compared must be there: an empty list equals any other.
    assert all(ended[kind] for kind in (*QUERIES, "vectors")), {kind: len(ended[kind]) for kind in ended}
    return ended


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kills_and_faults_change_nothing_about_the_end(
    tmp_path: Path, calm: dict[str, Any], seed: int
) -> None:
    chance = random.Random(seed)
    with world(tmp_path) as app:
        archives = upload(app)
        every_act = chance.sample(sorted(ACTS), len(ACTS))
        for name in [*every_act, *chance.choices(sorted(ACTS), k=ROUNDS - len(ACTS))]:
            print(name)
            ACTS[name](app)
            time.sleep(chance.uniform(0.05, 0.6))  # how far it gets between two blows is part of the game
        app.calm()
        ended = settle(app, archives)
    # A fault that nobody ran into proves nothing.
    assert all(app.hits[service] for service in FAULTY), app.hits
    for kind, expected in calm.items():
        assert ended[kind] == expected, kind
