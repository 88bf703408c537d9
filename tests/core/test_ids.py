"""Ids are stable and short, and different things never share an id."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.ids import (
    CHUNK_ID,
    MESSAGE_KEY,
    archive_id,
    chunk_id,
    chunk_set,
    entry_partition,
    file_hash,
    message_entry_id,
    message_key,
    message_key_without_id,
    message_of_chunk,
    message_partition,
    placement_entry_id,
    set_of_chunk,
    source_key,
    source_partition,
    subject_entry_id,
    text_version_of_chunk,
    thread_id,
    todo_entry_id,
    tombstone_entry_id,
    version_entry_id,
)

NOON = datetime(2024, 2, 5, 12, 0, tzinfo=UTC)


@pytest.mark.requirement("R-202")
def test_ids_are_the_first_sixteen_digits_of_a_sha256() -> None:
    assert message_key("<a@x>") == "79baa4529ab1d2f0"
    assert thread_id("<a@x>") == message_key("<a@x>")
    assert {len(one) for one in (message_key("x"), archive_id(file_hash(b""), "a"))} == {16}


def test_the_key_of_a_source_s_message_begins_with_its_source() -> None:
    keys = [message_key(f"<{number}@x>", "list") for number in range(50)]
    assert {len(key) for key in keys} == {20}
    assert {key[:4] for key in keys} == {source_key("list")} != {source_key("other")}
    partitions = {message_partition(key) for key in keys}
    assert 10 < len(partitions) <= 32
    assert {partition[:4] for partition in partitions} == {source_key("list")}
    assert {message_of_chunk(chunk_id(key, chunk_set(7, "whole"), 7)) for key in keys} == set(keys)


def test_the_entries_of_a_source_are_with_its_threads() -> None:
    key = message_key("<a@x>", "list")
    entries = [
        message_entry_id(key), subject_entry_id(7, "s", "list"), version_entry_id("list"),
        todo_entry_id("list", 7), placement_entry_id(key), tombstone_entry_id("list", "f" * 16),
    ]  # fmt: skip
    assert {entry_partition(entry) for entry in entries} == {source_partition(key)} == {source_key("list")}


@pytest.mark.requirement("R-202")
def test_a_message_without_an_id_is_known_by_what_it_says() -> None:
    key = message_key_without_id(NOON, "a@x", "s", "b")
    assert key == message_key_without_id(NOON.astimezone(timezone(timedelta(hours=3))), "a@x", "s", "b")
    assert key != message_key_without_id(None, "a@x", "s", "b")


@given(
    st.lists(st.text(max_size=5), min_size=3, max_size=3),
    st.lists(st.text(max_size=5), min_size=3, max_size=3),
)
def test_fields_cannot_run_into_each_other(one: list[str], other: list[str]) -> None:
    keys = [message_key_without_id(None, *fields) for fields in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


_KEYS = st.from_regex(MESSAGE_KEY, fullmatch=True)


@given(_KEYS, st.integers(0, 99), _KEYS, st.integers(0, 99))
@pytest.mark.requirement("R-202")
def test_chunks_of_different_messages_never_share_an_id(
    key: str, index: int, other: str, number: int
) -> None:
    set_ = chunk_set(1800000000000, "whole")
    assert (chunk_id(key, set_, index) == chunk_id(other, set_, number)) == ((key, index) == (other, number))


@given(_KEYS, st.integers(0, 10**15), st.text(max_size=9), st.integers(0, 99))
def test_a_chunk_s_id_tells_its_message_its_set_and_the_version_of_its_text(
    key: str, version: int, splitting: str, index: int
) -> None:
    set_ = chunk_set(version, splitting)
    id_ = chunk_id(key, set_, index)
    assert re.fullmatch(CHUNK_ID, id_)
    assert (message_of_chunk(id_), set_of_chunk(id_), text_version_of_chunk(id_)) == (key, set_, version)
