"""The journal's content of a message, without a broker."""

from pathlib import Path

import apsw

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.changes import SEQUENCE_BITS, Changes
from localcloud.servicebus.journal import Journal
from localcloud.servicebus.messages import EMPTY_HEADER, Message, parse_message
from tests.support.raw_amqp import message


def stored_message() -> Message:
    header = codec.described(0x70, codec.list_([codec.TRUE, codec.ubyte(9), codec.uint(5000)]))
    stored = parse_message(header + message(b"body", "m"))
    stored.sequence, stored.original_sequence, stored.enqueued_at = 7, 3, 1_000
    stored.delivery_count, stored.hops, stored.source = 2, 1, "elsewhere"
    return stored


def write(folder: Path, stored: Message) -> None:
    journal = Journal(folder)
    changes = Changes()
    changes.rows[(1 << SEQUENCE_BITS) | stored.sequence] = stored
    journal.commit(changes, now=0)
    journal.close()


def read(folder: Path) -> Message:
    journal = Journal(folder)
    ((_, found),) = journal.messages()
    journal.close()
    return found


def test_a_received_message_has_all_facts_of_the_broker(tmp_path: Path) -> None:
    stored = stored_message()
    write(tmp_path, stored)
    found = read(tmp_path)
    assert found.header == codec.TRUE + codec.ubyte(9)
    assert {name: getattr(found, name) for name in Message.__slots__} == {
        name: getattr(stored, name) for name in Message.__slots__
    }


def test_a_row_from_before_headers_were_kept_has_an_empty_one(tmp_path: Path) -> None:
    write(tmp_path, stored_message())
    database = apsw.Connection(str(tmp_path / "journal.sqlite"))
    database.execute("UPDATE messages SET facts = substr(facts, 1, 46)")
    database.close()
    found = read(tmp_path)
    assert (found.header, found.delivery_count, found.ttl) == (EMPTY_HEADER, 2, 5000)
