"""kill -9 under load: acknowledged messages survive, and completed messages stay deleted."""

import contextlib
import json
import random
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.performatives import DISPOSITION, FLOW, TRANSFER
from tests.servicebus.topology import entity, topology
from tests.support.raw_amqp import RawClient, message, request
from tests.support.services import RunningService, running_service, start_service

CONFIG = topology(
    [
        entity("load", LockDuration="PT5M"),
        entity("kept", LockDuration="PT5M"),
        entity("unique", RequiresDuplicateDetection=True, DuplicateDetectionHistoryTimeWindow="PT5M"),
    ],
    [],
)
SENDING, RECEIVING = 60, 30


@dataclass
class Ledger:
    """The messages in a certain state, and those in doubt."""

    acknowledged: set[str] = field(default_factory=set)
    completed: set[str] = field(default_factory=set)
    in_doubt: set[str] = field(default_factory=set)  # a completion was sent but not confirmed
    sequences: dict[int, str] = field(default_factory=dict)

    def note(self, payload: bytes) -> str:
        """Record a delivery. Its sequence number must never have belonged to another message."""
        name, sequence = identify(payload)
        assert self.sequences.setdefault(sequence, name) == name
        assert name not in self.completed
        return name


def identify(payload: bytes) -> tuple[str, int]:
    name, sequence, position = "", 0, 0
    while position < len(payload):
        section, position = decoding.decode(payload, position)
        if section.descriptor == 0x73:
            name = section.value[0]
        elif section.descriptor == 0x72:
            sequence = section.value["x-opt-sequence-number"]
    return name, sequence


def port_of(service: RunningService) -> int:
    return int(service.addresses["amqp"].rpartition(":")[2])


def load(port: int, ledger: Ledger, prefix: str) -> None:
    """Send and complete until the connection breaks."""
    with RawClient(port) as client:
        client.login()
        client.attach_sender("load")
        client.attach_receiver("load")
        sent = received = 0
        while True:
            names = [f"{prefix}-{number}" for number in range(sent, sent + SENDING)]
            client.send_bytes(
                b"".join(client.transfer(sent + at, message(b"x", name)) for at, name in enumerate(names))
            )
            confirmed = 0
            while confirmed < SENDING:
                fields, _ = client.expect(DISPOSITION)
                for number in range(fields[1], fields[2] + 1):
                    ledger.acknowledged.add(names[number - sent])
                    confirmed += 1
            sent += SENDING
            client.flow(RECEIVING, delivery_count=received)
            deliveries = {}
            for _ in range(RECEIVING):
                fields, payload = client.expect(TRANSFER)
                deliveries[fields[1]] = ledger.note(payload)
            received += RECEIVING
            ledger.in_doubt.update(deliveries.values())
            client.complete(min(deliveries), max(deliveries))
            while deliveries:
                fields, _ = client.expect(DISPOSITION)
                for number in range(fields[1], fields[2] + 1):
                    name = deliveries.pop(number)
                    ledger.completed.add(name)
                    ledger.in_doubt.discard(name)


def take_all(port: int, address: str) -> list[tuple[str, int]]:
    with RawClient(port) as client:
        client.login()
        client.attach_receiver(address, presettled=True)
        client.drain(1_000_000)
        found = []
        for descriptor, fields, payload in client.performatives():
            if descriptor == TRANSFER:
                found.append(identify(payload))
            elif descriptor == FLOW and fields[8]:
                return found
    raise AssertionError("unreachable")


def manage(port: int, queue: str, operation: str, **fields: bytes) -> tuple[int, Any]:
    """Send a $management request. Return its status and body."""
    with RawClient(port) as client:
        client.login()
        client.attach_sender(f"{queue}/$management")
        client.attach_receiver(f"{queue}/$management")
        client.flow(1)
        client.send_bytes(client.transfer(0, request(operation, **fields)))
        _, payload = client.expect(TRANSFER)
        position, status, body = 0, 0, None
        while position < len(payload):
            section, position = decoding.decode(payload, position)
            if section.descriptor == 0x74:
                status = section.value["statusCode"]
            elif section.descriptor == 0x77:
                body = section.value
        return status, body


def send(port: int, queue: str, *payloads: bytes) -> None:
    with RawClient(port) as client:
        client.login()
        client.attach_sender(queue)
        for number, payload in enumerate(payloads):
            client.send_bytes(client.transfer(number, payload))
            fields, _ = client.expect(DISPOSITION)
            assert fields[4].descriptor == 0x24


def prepare(port: int) -> int:
    """Create a message of each kind that must survive each crash.

    Return the number of the deferred message.
    """
    later = codec.described(
        0x72,
        codec.map_([(codec.symbol("x-opt-scheduled-enqueue-time"), codec.timestamp(4_000_000_000_000))]),
    )
    send(port, "kept", message(b"d", "deferred"), later + message(b"s", "scheduled"), message(b"l", "locked"))
    send(port, "unique", message(b"u", "once"))
    with RawClient(port) as client:
        client.login()
        client.attach_receiver("kept")
        client.flow(1)
        fields, payload = client.expect(TRANSFER)
        modified = codec.described(0x27, codec.list_([codec.TRUE, codec.TRUE]))
        client.send(
            DISPOSITION, codec.TRUE, codec.uint(fields[1]), codec.uint(fields[1]), codec.FALSE, modified
        )
        client.expect(DISPOSITION)
        name, sequence = identify(payload)
        assert name == "deferred"
    return sequence


def check_kept(port: int, deferred: int) -> None:
    """Check that deferred and scheduled messages and the duplicate history survive, and that locks do not."""
    status, body = manage(
        port,
        "kept",
        "peek-message",
        **{"from-sequence-number": codec.long(1), "message-count": codec.int_(10)},
    )
    assert status == 200
    assert [identify(item["message"])[0] for item in body["messages"]] == ["deferred", "scheduled", "locked"]
    with RawClient(port) as client:
        client.login()
        client.attach_receiver("kept")
        client.flow(1)
        _, payload = client.expect(TRANSFER)
        assert identify(payload)[0] == "locked"
    send(port, "unique", message(b"again", "once"))


def journalled(folder: Path, queue: str) -> list[tuple[str, int]]:
    """Return the journal's content of a queue, read from a copy of its files without code of the service."""
    with contextlib.ExitStack() as stack:
        copy = folder.with_name("copy")
        shutil.copytree(folder, copy)
        stack.callback(shutil.rmtree, copy)
        database = apsw.Connection(str(copy / "journal.sqlite"))
        stack.callback(database.close)
        rows = database.execute(
            "SELECT bare, row & 0xFFFFFFFFFF FROM messages, entities WHERE row >> 40 = number AND path = ?",
            (queue,),
        )
        return [(identify(bare)[0], sequence) for bare, sequence in rows]


def run_crashes(folder: Path, rounds: int, seed: int) -> Ledger:
    folder.mkdir(exist_ok=True)
    config = folder / "Config.json"
    config.write_text(json.dumps(CONFIG))
    arguments = ("--admin-port", "0", "--config", str(config), "--no-clamp")
    chance, ledger, deferred = random.Random(seed), Ledger(), 0
    for number in range(rounds):
        service = start_service("servicebus", *arguments, data=folder / "data")
        timer = threading.Timer(chance.uniform(0.1, 0.6), service.process.kill)
        try:
            port = port_of(service)
            deferred = deferred or prepare(port)
            check_kept(port, deferred)
            timer.start()
            with contextlib.suppress(ConnectionError):
                load(port, ledger, f"r{number}")
        finally:
            timer.cancel()
            service.kill()
            for stream in (service.process.stdin, service.process.stdout):
                if stream is not None:
                    stream.close()
    stored = journalled(folder / "data", "load")
    check(ledger, stored)
    with running_service("servicebus", *arguments, data=folder / "data") as service:
        port = port_of(service)
        check_kept(port, deferred)
        status, body = manage(
            port,
            "kept",
            "receive-by-sequence-number",
            **{
                "sequence-numbers": codec.array(0x81, [deferred.to_bytes(8, "big")]),
                "receiver-settle-mode": codec.uint(0),
            },
        )
        assert (status, len(body["messages"])) == (200, 1)
        assert [name for name, _ in take_all(port, "unique")] == ["once"]
        assert take_all(port, "load") == sorted(stored, key=lambda found: found[1])
    assert journalled(folder / "data", "load") == []
    return ledger


def check(ledger: Ledger, left: list[tuple[str, int]]) -> None:
    names = [name for name, _ in left]
    assert len(names) == len(set(names)), "a message is there twice"
    assert not ledger.completed & set(names), "a completed message is back"
    lost = ledger.acknowledged - ledger.completed - ledger.in_doubt - set(names)
    assert not lost, f"{len(lost)} acknowledged messages are lost"
    for name, sequence in left:
        assert ledger.sequences.setdefault(sequence, name) == name, "a sequence number was used twice"


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    ledger = run_crashes(tmp_path / "bus", rounds=4, seed=1)
    assert len(ledger.acknowledged) > 200
    assert len(ledger.completed) > 100


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_over_many_kills(tmp_path: Path) -> None:
    ledger = run_crashes(tmp_path / "bus", rounds=60, seed=2)
    assert len(ledger.acknowledged) > 5000


def test_a_second_process_cannot_open_the_same_journal(tmp_path: Path) -> None:
    config = tmp_path / "Config.json"
    config.write_text(json.dumps(CONFIG))
    arguments = ("--admin-port", "0", "--config", str(config), "--no-clamp")
    with (
        running_service("servicebus", *arguments, data=tmp_path / "data"),
        pytest.raises(RuntimeError, match="journal"),
    ):
        start_service("servicebus", *arguments, data=tmp_path / "data")


def test_a_namespace_that_was_stopped_in_order_starts_where_it_left_off(tmp_path: Path) -> None:
    config = tmp_path / "Config.json"
    config.write_text(json.dumps(CONFIG))
    arguments = ("--admin-port", "0", "--config", str(config), "--no-clamp", "--synchronous", "FULL")
    with running_service("servicebus", *arguments, data=tmp_path / "data") as service:
        send(port_of(service), "load", message(b"1", "first"), message(b"2", "second"))
        assert take_all(port_of(service), "load") == [("first", 1), ("second", 2)]
        send(port_of(service), "load", message(b"3", "third"))
        assert service.stop() == 0
    with running_service("servicebus", *arguments, data=tmp_path / "data") as service:
        send(port_of(service), "load", message(b"4", "fourth"))
        assert take_all(port_of(service), "load") == [("third", 3), ("fourth", 4)]
