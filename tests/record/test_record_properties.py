"""Properties of a source's record: the order and number of parses change nothing."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.record.forgery_record import InMemoryRecord
from tests.record.test_forgeries import PEOPLE, PROFILES, mail
from tests.support.properties import STEADY

NAMES = ("ann", "bob", "cem")
TEXTS = ("I support this.", "I object to this.", "I have no opinion.")
Numbered = tuple[int, bytes]
"""An archive: its number in the order of arrival, and its bytes."""


@st.composite
def mails(draw: st.DrawFn, *, conflicting: bool) -> list[bytes]:
    ids = draw(
        st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6, unique=not conflicting)
    )
    return [
        mail(
            id_,
            PEOPLE[draw(st.sampled_from(NAMES))],
            draw(st.sampled_from(TEXTS)),
            refs=draw(st.lists(st.sampled_from(["a", "b", "x"]), max_size=2, unique=True)),
            hour=draw(st.integers(0, 3)),
        )
        for id_ in ids
    ]


def cut(whole: list[bytes], places: list[int]) -> list[bytes]:
    return [part for a, b in pairwise([0, *places, len(whole)]) if (part := b"".join(whole[a:b]))]


def record_of(archives: list[Numbered]) -> InMemoryRecord:
    made = InMemoryRecord(PROFILES)
    for number, content in archives:
        made.take_in("list", content, arrived=f"2026-03-05T00:{number:02d}:00.000000Z")
    return made


@STEADY
@given(whole=mails(conflicting=False), data=st.data())
def test_without_conflicts_any_order_partition_and_duplication_gives_the_same_record(
    whole: list[bytes], data: st.DataObject
) -> None:
    """Places of copies are left out, because the archives differ in them."""
    shuffled = data.draw(st.permutations([*whole, *data.draw(st.lists(st.sampled_from(whole), max_size=3))]))
    places = sorted(data.draw(st.sets(st.integers(1, len(shuffled)), max_size=3)))
    one = record_of([(0, b"".join(whole))])
    other = record_of(list(enumerate(cut(shuffled, places))))
    assert said(other) == said(one)
    assert not any(message.conflicts for message in other.messages("list"))


@STEADY
@given(whole=mails(conflicting=True), data=st.data())
def test_with_conflicts_the_first_of_the_list_counts_whatever_is_parsed_first(
    whole: list[bytes], data: st.DataObject
) -> None:
    places = sorted(data.draw(st.sets(st.integers(1, len(whole)), max_size=4)))
    in_order = list(enumerate(dict.fromkeys(cut(whole, places))))  # the same file twice is one archive
    calm = record_of(in_order)
    again = data.draw(st.lists(st.sampled_from(in_order), max_size=3))
    other = record_of(data.draw(st.permutations([*in_order, *again])))
    assert said(other) == said(calm)
    contents = {message.message_id: set[str]() for message in calm.messages("list")}
    for message in other.messages("list"):
        contents[message.message_id] |= {copy.identity for copy in message.copies}
        assert message.conflicts == len(contents[message.message_id]) - 1
        first = next(one.decode() for one in whole if f"Message-ID: {message.message_id}\n".encode() in one)
        assert f"<{message.from_.email}>" in first
        assert first.endswith(f"\n\n{message.body_raw.strip()}\n\n")
    assert {one.message_id: one.copies for one in other.messages("list")} == {
        one.message_id: one.copies for one in calm.messages("list")
    }


def said(record: InMemoryRecord) -> dict[str, object]:
    """Return the words, the conflicts and the threads."""
    return {
        "mails": {
            one.message_id: (one.variant, one.body_raw, one.conflicts) for one in record.messages("list")
        },
        "threads": {name: thread.thread.threading for name, thread in record.threads("list").items()},
    }
