"""Time, ids and randomness come from the runtime, so that the simulation controls them."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.services import ROOT

INJECTED = ("shared/models", "shared/pipeline", "shared/thread_store", "shared/operations", "stages")
FORBIDDEN = {
    ("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("time", "time"), ("time", "monotonic"),
    ("time", "perf_counter"), ("uuid", "uuid1"), ("uuid", "uuid4"), ("asyncio", "sleep"),
}  # fmt: skip
SOURCES = {"Random", "SystemRandom", "token_hex", "token_bytes"}  # allowed as a type, forbidden as a call


def drawn_from_the_machine(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (owner, name) in FORBIDDEN:
                yield f"{node.lineno}: {owner}.{name}"
            case ast.ImportFrom(module=module, names=names):
                yield from (f"{node.lineno}: {n.name}" for n in names if (module, n.name) in FORBIDDEN)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="random" | "secrets"))):
                yield f"{node.lineno}: a random number of the machine's"
            case ast.Call(func=ast.Name(id=name)) if name in SOURCES:
                yield f"{node.lineno}: {name}()"
            case _:
                continue


@pytest.mark.parametrize("room", INJECTED)
def test_these_rooms_take_their_time_and_ids_from_the_runtime(room: str) -> None:
    modules = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / room).rglob("*.py"))}
    assert modules
    found = {name: list(drawn_from_the_machine(path.read_text())) for name, path in modules.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "now = datetime.now(UTC)",
        "field(default_factory=lambda: datetime.now(UTC))",
        "id_ = uuid.uuid4().hex",
        "from uuid import uuid4",
        "delay = random.random()",
        "rng = Random()",
        "started = time.monotonic()",
    ],
)
def test_every_way_around_the_runtime_is_found(source: str) -> None:
    assert list(drawn_from_the_machine(source))
