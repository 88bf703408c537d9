"""Parsing and chunking on the local cloud."""

import asyncio
import gzip
import io
import random
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from localcloud.testing import Faults
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import message_key, set_of_chunk, thread_id
from shared.core.runtime import Runtime
from shared.ingestion.errors import UnreadableArchiveError
from shared.ingestion.suppressing import suppress
from shared.mail.models import Skipped
from shared.mail.parse import parse_archive
from shared.models.erasure import ALL_SOURCES, ErasureMode
from shared.models.queries.named_query import NamedQuery
from shared.models.sources import Archive, Source
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_types import JSONParsed
from shared.pipeline.events import Event
from shared.pipeline.readiness import ReadyThread
from shared.pipeline.runner import StageRunner
from shared.thread_store.chunk_sets import LABELS, MessagesOvertakenError, label_chunks
from shared.thread_store.moving import resolve_thread
from shared.thread_store.thread_documents import describe_inexact
from stages import chunking
from stages.chunking import CHUNKING
from stages.parsing import PARSING, NoMessagesError
from tests.stages.mail_in import NOW, MailIn, archive_of, chunk_pending, ingested, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.index_rows import indexed
from tests.support.measured import Measured
from tests.support.services import RunningService
from tests.support.toy_stages import Bench

EVERY_ARCHIVE = NamedQuery("everything", "archives", "SELECT * FROM c")
ROOT = thread_id("<m0@example.org>", "list")
CHAIN = [mail(0), mail(1, parent=0), mail(2, parent=1), mail(3, parent=0), mail(4, subject="Another matter")]

SPLIT = b"".join(
    mail(number, parent=number - 1).replace(
        b"In-Reply-To: ", b"References: <m0@example.org> <m20@example.org>\nIn-Reply-To: "
    )
    for number in (21, 22)
)
"""Two answers to a mail that is not there yet; until then they belong to the first thread."""


@pytest.fixture(autouse=True)
def no_faults_left(cloud: AppCloud) -> Iterator[None]:
    yield
    Faults(cloud.cosmos).plan()
    Faults(cloud.search).plan()


async def test_an_archive_becomes_messages_threads_and_chunks(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        prepared = await place.take_in(b"".join(CHAIN))
        messages = await place.stored("messages")
        assert [message["status"] for message in messages] == ["processed"] * 5
        threads = {thread["id"]: thread for thread in await place.stored("threads")}
        assert {thread["message_count"] for thread in threads.values()} == {4, 1}
        root = threads[ROOT]
        assert (root["subject"], root["root_message_id"]) == ("A draft", "<m0@example.org>")
        assert [participant["email"] for participant in root["participants"]] == [
            "ada@example.org",
            "bo@example.org",
            "cy@example.org",
        ]
        assert root["draft_mentions"] == ["RFC8446"]
        assert root["first_message_date"] == "2024-01-01T10:00:00.000000Z"
        chunks = await place.stored("chunks")
        assert {found_chunk["id"] for found_chunk in chunks} == {
            id_ for event in prepared for id_ in event.data.chunk_ids
        }
        for chunk in chunks:
            body = next(m["body_raw"] for m in messages if m["id"] == chunk["message_key"])
            assert "\n\n".join(body[start:end] for start, end in chunk["metadata"]["spans"]) == chunk["text"]
            assert "quoted" not in chunk["text"]
        (archive,) = await place.stored("archives")
        assert (archive["status"], archive["message_count"], archive["thread_count"]) == ("processed", 5, 2)


async def test_chunks_that_come_twice_are_counted_as_duplicates(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Measured()
    monkeypatch.setattr(chunking, "pipeline_metrics", lambda: measured.metrics)
    async with mail_in(cloud, bus_service) as place:
        for parsed in await place.run(PARSING, await place.ingest(b"".join(CHAIN))):
            await place.run(CHUNKING, parsed)
            assert measured.take("duplicates_detected_total") == {}
            await place.run(CHUNKING, parsed)
        stored = len(await place.stored("chunks"))
    assert stored > 0
    assert measured.take("duplicates_detected_total") == {("chunking", "chunk"): stored}
    assert measured.take("chunks_created_total") == {("chunking",): stored}


@pytest.mark.requirement("R-303")
async def test_an_archive_is_unpacked_whatever_it_is_packed_as(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("2024-01.mbox", b"".join(CHAIN[:3]))
        archive.writestr("2024-02.mbox.gz", gzip.compress(b"".join(CHAIN[3:])))
        archive.writestr("index.html", "<p>not mail</p>")
    async with mail_in(cloud, bus_service) as place:
        for content in (packed.getvalue(), gzip.compress(b"".join(CHAIN))):
            await place.take_in(content)
            assert len(await place.stored("messages")) == 5


async def test_whole_threads_are_announced_together(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        content = b"".join(
            mail(i, parent=i - 1 if i % 5 else None, subject=f"Topic {i // 5}") for i in range(25)
        )
        (event,) = await place.run(PARSING, await place.ingest(content))
        assert event.data.message_count == 25
        assert event.data.thread_count == len(event.data.thread_ids) == 5
        assert set(event.session) >= {"messages", "threads"}


async def documents_of(place: MailIn, *, archives: bool) -> dict[str, Any]:
    await describe_all(place)
    origin = () if archives else ("archive_id", "archive_ids", "copies", "place")
    without = ("text_version", "chunk_set", "replaced", *origin)
    found = {name: await place.stored(name, *without) for name in ("messages", "threads", "chunks")}
    for chunk in found["chunks"]:
        chunk["id"] = chunk["chunk_id"] = f"{chunk['message_key']} {chunk['chunk_index']}"
    return found


async def describe_all(place: MailIn) -> None:
    """As orchestration does when a thread is ready."""
    store = place.clients.store
    threads = [await store.read(Thread, row["id"], Session()) for row in await place.stored("threads")]
    ready = [ReadyThread(thread, "") for thread in threads if thread.inexact]
    assert await describe_inexact(place.clients, ready, Session()) == ready


def signposts_apart(documents: dict[str, Any]) -> dict[str, Any]:
    """Threads that came and went on the way are signposts, which another order does not leave."""
    return {
        **documents,
        "threads": [thread for thread in documents["threads"] if thread["merged_into"] is None],
    }


async def test_any_order_partition_and_repetition_gives_the_same_documents(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    mails = [*CHAIN, mail(5, parent=4), mail(6, subject="Re: Another matter", refs=False), mail(7, parent=3)]
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(b"".join(mails))
        expected = signposts_apart(await documents_of(place, archives=False))
    for seed in range(4):
        rng = random.Random(seed)
        shuffled = rng.sample(mails, len(mails))
        cut = sorted(rng.sample(range(1, len(mails)), 3))
        archives = [shuffled[a:b] for a, b in zip([0, *cut], [*cut, len(mails)], strict=True)]
        archives.append(rng.sample(mails, 4))
        async with mail_in(cloud, bus_service) as place:
            for archive in archives:
                await place.take_in(b"".join(archive))
            assert signposts_apart(await documents_of(place, archives=False)) == expected, f"seed {seed}"


LONG = "\n\n".join(
    f"Paragraph {i} of what this message says: {'words and more words ' * 40}." for i in range(6)
)
VARIANTS = [
    mail(1, parent=0, body=LONG),
    mail(1, parent=0, body="Short, by a list that cuts."),
    mail(1, parent=0, body=LONG + "\n\n" + "_" * 40 + "\nlist mailing list\n", subject="[list] A draft"),
    mail(1, parent=0, body="> only\n> quotes"),
]


def at(number: int) -> datetime:
    return NOW + timedelta(minutes=number)


async def test_of_mails_with_one_id_the_first_of_the_list_is_the_message_whatever_is_parsed_first(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """The archives came to the source in one order; they are parsed in another."""
    archives = [CHAIN[0] + VARIANTS[0], VARIANTS[1] + VARIANTS[2], VARIANTS[3] + CHAIN[2], VARIANTS[2]]
    results = []
    for seed in range(4):
        async with mail_in(cloud, bus_service) as place:
            for number in random.Random(seed).sample(range(4), 4):
                await place.take_in(archives[number], arrived=at(number))
            results.append(signposts_apart(await documents_of(place, archives=True)))
    assert all(result == results[0] for result in results)
    message = next(
        found_message
        for found_message in results[0]["messages"]
        if found_message["message_id"] == "<m1@example.org>"
    )
    assert message["body_raw"].startswith("Paragraph 0")
    assert (message["copies"][0]["archive_id"], len(message["copies"])) == (archive_of(archives[0]).id, 5)
    assert message["conflicts"] == 2  # the list's tag and footer are none


async def test_a_copy_with_an_earlier_date_and_other_references_changes_nothing_but_the_flag(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    forged = (
        mail(1, parent=4, body="I take it all back.")
        .replace(b"02 Jan 2024", b"01 Jan 1999")
        .replace(b"Bo Example", b"Somebody Else")
    )
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(b"".join(CHAIN))
        honest = await documents_of(place, archives=False)
        await place.take_in(forged, arrived=at(1))
        after = await documents_of(place, archives=False)
    flagged = [message for message in after["messages"] if message["conflicts"]]
    assert [message["message_id"] for message in flagged] == ["<m1@example.org>"]
    flagged[0]["conflicts"] = 0
    assert after == honest


async def test_a_conflicting_copy_of_another_list_is_that_lists_own_in_either_order(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    forged = mail(1, body="I take it all back.", subject="Another matter altogether")
    seen = []
    for order in ([0, 1], [1, 0]):
        async with mail_in(cloud, bus_service) as place:
            for number in order:
                content, name = [(CHAIN[0] + CHAIN[1], "list"), (CHAIN[0] + forged, "other")][number]
                await place.take_in(content, name, arrived=at(number))
            without = ("copies", "place", "archive_ids", "archive_id", "text_version", "chunk_set")
            seen.append(await place.stored("messages", *without))
    assert seen[0] == seen[1]
    assert len(seen[0]) == 4
    by_source = {(document["source"], document["message_id"]): document for document in seen[0]}
    cross_post = by_source["list", "<m0@example.org>"]
    assert (cross_post["sources"], cross_post["conflicts"]) == (["list", "other"], 0)
    own = by_source["list", "<m1@example.org>"]
    assert (own["sources"], own["conflicts"]) == (["list"], 1)
    assert "take it all back" not in own["body_raw"]
    assert "take it all back" in by_source["other", "<m1@example.org>"]["body_raw"]
    assert len({document["thread_id"] for document in seen[0]}) == 3


async def test_chunks_and_vectors_follow_when_an_earlier_copy_takes_a_messages_place(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    later_copy, first = VARIANTS[0], VARIANTS[1]
    async with mail_in(cloud, bus_service) as place:
        (earlier,) = await place.take_in(later_copy, arrived=at(1))
        store, index = place.clients.store, place.clients.index
        ids, thread = earlier.data.chunk_ids, earlier.data.chunk_threads[0]
        await store.patch_all(
            Chunk, [Patch(id_, set={"embedding_generated": True}) for id_ in ids], Session()
        )
        await index.upsert([{"chunk_id": id_, "thread_id": thread, "embedding": [0.5] * 4} for id_ in ids])
        (later,) = await place.take_in(first, arrived=at(0))
        stored = {chunk["id"]: chunk for chunk in await place.stored("chunks")}
        assert set(stored) == set(later.data.chunk_ids)
        assert not any(document["embedding_generated"] for document in stored.values())
        gone = set(ids) - set(later.data.chunk_ids)
        assert gone
        assert [await indexed(index, id_) for id_ in gone] == [None] * len(gone)
        (message,) = await place.stored("messages")
        assert [document["text"] in message["body_raw"] for document in stored.values()] == [True]
        assert len(message["archive_ids"]) == 2


async def test_a_late_ancestor_takes_its_answers_to_its_own_thread_with_all_they_have(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        events = await place.take_in(CHAIN[0] + CHAIN[1] + SPLIT)
        places = {
            id_: thread
            for event in events
            for id_, thread in zip(event.data.chunk_ids, event.data.chunk_threads, strict=True)
        }
        assert set(places.values()) == {ROOT}
        messages_of = {chunk["id"]: chunk["message_id"] for chunk in await place.stored("chunks")}
        await place.clients.store.patch_all(
            Chunk,
            [Patch(id_, set={"embedding_generated": True, "status": "processed"}) for id_ in places],
            Session(),
        )
        parsed = await place.run(PARSING, await place.ingest(mail(20, subject="It came late")))
        prepared = [event for one in parsed for event in await place.run(CHUNKING, one)]
        late = thread_id("<m20@example.org>", "list")
        messages = {message["message_id"]: message["thread_id"] for message in await place.stored("messages")}
        assert messages == {
            "<m0@example.org>": ROOT,
            "<m1@example.org>": ROOT,
            "<m20@example.org>": late,
            "<m21@example.org>": late,
            "<m22@example.org>": late,
        }
        chunks = await place.stored("chunks")
        assert {chunk["id"]: chunk["thread_id"] for chunk in chunks} == {
            chunk["id"]: messages[chunk["message_id"]] for chunk in chunks
        }
        # Those with a vector are pending and announced: embedding passes the label on to the index.
        moved = {id_ for id_ in places if messages_of[id_] in ("<m21@example.org>", "<m22@example.org>")}
        assert {chunk["id"] for chunk in chunks if chunk["status"] == "pending"} >= moved
        assert {id_ for event in prepared for id_ in event.data.chunk_ids} >= moved
        threads = {thread["id"]: thread for thread in await place.stored("threads")}
        assert (threads[ROOT]["message_count"], threads[late]["message_count"]) == (2, 3)
        assert [participant["email"] for participant in threads[ROOT]["participants"]] == [
            "ada@example.org",
            "bo@example.org",
        ]
        # Both are announced: the thread that lost messages has to be read again, too.
        assert {thread for event in parsed for thread in event.data.thread_ids} == {ROOT, late}


async def test_a_thread_that_became_another_is_one_again_when_a_mail_claims_its_root(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """m0 is never there: m21 waits in its thread for m20, and m23 knows nothing but m0."""
    claims = mail(23, parent=0, subject="Of the first")
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(SPLIT)
        await place.take_in(mail(20))
        assert (await place.clients.store.read(Thread, ROOT, Session())).merged_into is not None
        await place.take_in(claims)
        threads = {message["message_id"]: message["thread_id"] for message in await place.stored("messages")}
        own = thread_id("<m20@example.org>", "list")
        assert threads == {f"<m{n}@example.org>": own for n in (20, 21, 22)} | {"<m23@example.org>": ROOT}
        assert (await place.clients.store.read(Thread, ROOT, Session())).merged_into is None
        await place.take_in(mail(24, parent=23, subject="Of the first"))
        found = await place.stored("messages")
        assert [message["thread_id"] for message in found if "m24" in message["message_id"]] == [ROOT]


async def test_a_worker_that_read_an_earlier_text_deletes_its_own_chunks_and_no_others(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, first = VARIANTS[:2]
    async with mail_in(cloud, bus_service) as place:
        (parsed,) = await place.run(PARSING, await place.ingest(last, arrived=at(1)))
        split = chunking._chunks_of

        def replaced_meanwhile(*given: Any) -> list[Chunk]:
            monkeypatch.setattr(chunking, "_chunks_of", split)
            asyncio.run_coroutine_threadsafe(place.take_in(first, arrived=at(0)), loop).result()
            return split(*given)

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(chunking, "_chunks_of", replaced_meanwhile)
        with pytest.raises(MessagesOvertakenError):
            await place.run(CHUNKING, parsed)
        (message,), chunks = await place.stored("messages"), await place.stored("chunks")
        assert [chunk["text"] for chunk in chunks] == ["Short, by a list that cuts."]
        assert {set_of_chunk(chunk["id"]) for chunk in chunks} == {message["chunk_set"]}
        assert (message["status"], message["chunk_count"]) == ("processed", 1)


async def test_a_worker_that_read_earlier_labels_takes_no_archive_from_a_chunk(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(CHAIN[0])
        loaded = await place.clients.store.read(Message, (await place.stored("messages"))[0]["id"], Session())
        await place.take_in(CHAIN[0] + CHAIN[1])
        labelled = [chunk for chunk in await place.stored("chunks") if chunk["message_key"] == loaded.id]
        assert [len(chunk["archive_ids"]) for chunk in labelled] == [2]
        labels = {loaded.id: loaded.model_dump(include={*LABELS})}
        assert await label_chunks(place.clients, labels, Session(), is_announced=True) == []
        after = [chunk for chunk in await place.stored("chunks") if chunk["message_key"] == loaded.id]
        assert after == labelled


async def test_a_message_that_is_split_otherwise_gets_other_chunks_and_loses_the_earlier_ones(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        (parsed,) = await place.run(PARSING, await place.ingest(VARIANTS[0]))
        sets = []
        for size in (200, 60):
            settings = place.clients.settings.model_copy(update={"CHUNKING_MAX_TOKENS": size})
            monkeypatch.setattr(place.clients, "settings", settings)
            await place.run(CHUNKING, parsed)
            (message,), chunks = await place.stored("messages"), await place.stored("chunks")
            assert {set_of_chunk(chunk["id"]) for chunk in chunks} == {message["chunk_set"]}
            assert len(chunks) == message["chunk_count"]
            sets.append(len(chunks))
        assert sets[0] < sets[1]


@pytest.mark.requirement("R-305")
async def test_the_same_archives_in_another_order_give_the_same_documents(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    first, second = b"".join(CHAIN[:3]), b"".join(CHAIN[2:])
    results = []
    for archives in ([first, second], [second, first, second]):
        async with mail_in(cloud, bus_service) as place:
            for archive in archives:
                await place.take_in(archive)
            results.append(signposts_apart(await documents_of(place, archives=True)))
    assert results[0] == results[1]
    shared = next(
        message for message in results[0]["messages"] if message["message_id"] == "<m2@example.org>"
    )
    assert shared["archive_ids"] == sorted([archive_of(first).id, archive_of(second).id])


async def test_a_late_parent_merges_threads_and_everything_follows(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        child = mail(9, parent=8, subject="The first of all")
        # Two threads that do not know of each other, until the mail comes that links them.
        await place.take_in(CHAIN[0] + CHAIN[1])
        events = await place.take_in(child)
        old = thread_id("<m8@example.org>", "list")
        chunk_ids = [id_ for event in events for id_ in event.data.chunk_ids]
        await place.clients.store.patch_all(
            Chunk, [Patch(id_, set={"embedding_generated": True}) for id_ in chunk_ids], Session()
        )
        await place.take_in(mail(8, parent=0, subject="The first of all"))
        threads = {thread["id"]: thread for thread in await place.stored("threads")}
        assert threads[old]["merged_into"] == ROOT
        assert threads[ROOT]["message_count"] == 4
        assert {message["thread_id"] for message in await place.stored("messages")} == {ROOT}
        chunks = await place.stored("chunks")
        assert {chunk["thread_id"] for chunk in chunks} == {ROOT}
        assert {chunk["id"] for chunk in chunks if chunk["embedding_generated"]} == set(chunk_ids)
        assert await resolve_thread(place.clients, old, Session()) == ROOT


@pytest.mark.parametrize("number", [8, 9, 10])
async def test_a_message_that_comes_again_with_what_merges_its_thread_keeps_both_archives(
    cloud: AppCloud, bus_service: RunningService, number: int
) -> None:
    # Its parent, which nobody has yet, names another thread.
    alone = mail(number, parent=90 + number, subject=f"Matter {number}")
    linking = mail(90 + number, parent=0, subject="Both")
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(alone)
        await place.take_in(CHAIN[0] + alone + linking)
        messages = {message["message_id"]: message for message in await place.stored("messages")}
        assert len(messages) == len(await place.stored("messages")) == 3
        assert {message["thread_id"] for message in messages.values()} == {ROOT}
        again = messages[f"<m{number}@example.org>"]
        both = sorted([archive_of(alone).id, archive_of(CHAIN[0] + alone + linking).id])
        assert (again["archive_ids"], again["archive_id"]) == (both, both[0])


@pytest.mark.parametrize("order", [0, 1])
async def test_a_mail_without_an_id_is_found_by_the_id_that_stands_for_it(
    cloud: AppCloud, bus_service: RunningService, order: int
) -> None:
    without = mail(6, subject="It has no id").replace(b"Message-ID: <m6@example.org>\n", b"")
    (parsed,) = parse_archive(io.BytesIO(without))
    assert not isinstance(parsed, Skipped)
    forged = mail(7, subject="It names what nobody should know").replace(
        b"Message-ID:",
        f"References: {parsed.node} <a/b?#{'x' * 300}@no-message-id.invalid>\nMessage-ID:".encode(),
    )
    async with mail_in(cloud, bus_service) as place:
        for content in (without, forged) if order else (forged, without):
            await place.take_in(content)
        (thread,) = [
            stored_thread
            for stored_thread in await place.stored("threads")
            if stored_thread["merged_into"] is None
        ]
        assert thread["message_count"] == 2
        assert {message["thread_id"] for message in await place.stored("messages")} == {thread["id"]}


async def test_a_worker_sees_what_the_one_before_it_threaded(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        other = await Clients.connect(place.clients.settings)
        try:
            events = [await place.ingest(content) for content in (CHAIN[0] + CHAIN[1], CHAIN[2], CHAIN[1])]
            Faults(cloud.cosmos).lag(30)
            elsewhere = MailIn(Bench(other, place.place.bus))
            for worker, event in zip((place, elsewhere, place), events, strict=True):
                await worker.run(PARSING, event)
        finally:
            Faults(cloud.cosmos).lag(0)
            await other.close()
        (thread,) = await place.stored("threads")
        assert (thread["id"], thread["message_count"]) == (ROOT, 3)
        assert len(await place.stored("messages")) == 3


async def test_an_event_about_a_merged_thread_finds_its_messages_where_they_are_now(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        (early,) = await place.run(PARSING, await place.ingest(mail(1, parent=0)))
        await place.run(
            PARSING, await place.ingest(mail(0).replace(b"Subject", b"In-Reply-To: <root@x>\nSubject"))
        )
        now = thread_id("<root@x>", "list")
        assert early.data.message_threads != [now]
        (prepared,) = await place.run(CHUNKING, early)
        assert prepared.data.chunk_threads == [now] * prepared.data.chunk_count
        assert {chunk["thread_id"] for chunk in await place.stored("chunks")} == {now}


CalmEnds = dict[tuple[bytes, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def calm_ends() -> CalmEnds:
    """What undisturbed runs end with: computed once, compared at every step."""
    return {}


async def calm_end(cloud: AppCloud, bus: RunningService, known: CalmEnds, *archives: bytes) -> dict[str, Any]:
    if archives not in known:
        async with mail_in(cloud, bus) as place:
            for archive in archives:
                await place.take_in(archive)
            known[archives] = await documents_of(place, archives=True)
    assert known[archives]["messages"]
    return known[archives]


@pytest.mark.parametrize("step", range(14))
@pytest.mark.parametrize("kind", ["merge", "split"])
async def test_a_parse_that_breaks_off_at_any_write_ends_as_if_it_had_not(
    cloud: AppCloud,
    bus_service: RunningService,
    calm_ends: CalmEnds,
    step: int,
    kind: str,
) -> None:
    before, linking = {
        "merge": (CHAIN[1] + CHAIN[3], CHAIN[0] + mail(5, parent=3, subject="Re: A draft")),
        "split": (CHAIN[0] + CHAIN[1] + SPLIT, mail(20, subject="It came late")),
    }[kind]
    expected = await calm_end(cloud, bus_service, calm_ends, before, linking)
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(before)
        event = await place.ingest(linking)
        await break_off(place, cloud, event, after=step * 2)
        for parsed in await place.run(PARSING, event):
            await place.run(CHUNKING, parsed)
        await chunk_pending(place)
        assert await documents_of(place, archives=True) == expected


@pytest.mark.parametrize("step", range(12))
async def test_a_first_parse_that_breaks_off_at_any_write_is_mended_by_the_next_archive_and_itself(
    cloud: AppCloud,
    bus_service: RunningService,
    calm_ends: CalmEnds,
    step: int,
) -> None:
    """Nothing is known yet, and before the archive is tried again another one reaches into its threads."""
    first, second = CHAIN[1] + CHAIN[3] + CHAIN[4], CHAIN[0] + mail(5, parent=3, subject="Re: A draft")
    expected = signposts_apart(await calm_end(cloud, bus_service, calm_ends, second, first))
    async with mail_in(cloud, bus_service) as place:
        event = await place.ingest(first)
        await break_off(place, cloud, event, after=step)
        await place.take_in(second)
        for parsed in await place.run(PARSING, event):
            await place.run(CHUNKING, parsed)
        assert signposts_apart(await documents_of(place, archives=True)) == expected


async def break_off(place: MailIn, cloud: AppCloud, event: Event[Any], *, after: int) -> None:
    """Parse until the store refuses all further requests for documents."""
    fault = {"kind": "status", "operation": "docs.*", "skip": after, "times": None, "args": {"status": 500}}
    Faults(cloud.cosmos).plan(fault)
    try:
        await place.run(PARSING, event)
    except Exception:  # noqa: BLE001 - it broke off, as planned; a late step may not have been reached
        Faults(cloud.cosmos).plan()
    Faults(cloud.cosmos).plan()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\n\n", "UnreadableArchiveError"),
        (b"no mail at all, just words\n" * 50, "UnreadableArchiveError"),
        (
            mail(0) + b"a long line of an attachment\n" * 750_000,
            r"NoMessagesError: .*none of 1 messages could be parsed \(1 larger than the limit of 20971520 bytes\)",
        ),
    ],
    ids=["blank", "no mail", "one mail above the limit"],
)
async def test_what_is_no_mailbox_is_a_clear_failure_and_not_success_with_nothing(
    cloud: AppCloud, bus_service: RunningService, content: bytes, says: str
) -> None:
    async with mail_in(cloud, bus_service) as place:
        event = await place.ingest(content)
        with pytest.raises((UnreadableArchiveError, NoMessagesError), match=r"\.mbox: "):
            await place.run(PARSING, event)
        runner = StageRunner(PARSING, place.clients, Runtime(now=lambda: event.timestamp))
        await runner.run(Delivery(event.to_json(), "id"))
        archive = await place.clients.store.read(Archive, event.data.archive_id, Session())
        assert (archive.status, archive.attemptCount) == ("failed", 1)
        assert re.match(says, archive.lastError or "")
        (failed,) = [
            event
            for event in await place.place.take_all("failures", 1)
            if event.event_type == "ParsingFailed"
        ]
        assert failed.data.messages_parsed_before_failure == 0


async def test_two_workers_on_the_same_archive_at_once_have_one_effect(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        event = await place.ingest(b"".join(CHAIN))
        first, second = await asyncio.gather(*(place.run(PARSING, event) for _ in range(2)))
        assert [e.message_id for e in first] == [e.message_id for e in second]
        assert len(await place.stored("messages")) == 5
        assert sorted(thread["message_count"] for thread in await place.stored("threads")) == [1, 4]


async def test_a_thread_without_any_text_of_its_own_is_announced_with_no_chunks(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        (prepared,) = await place.take_in(mail(0, body="> only quotes\n> here"))
        assert (prepared.data.chunk_count, prepared.data.chunk_ids) == (0, [])
        assert prepared.data.thread_ids == [ROOT]
        assert prepared.data.message_keys == [(await place.stored("messages"))[0]["id"]]
        assert (await place.stored("messages"))[0]["status"] == "processed"
        assert prepared.message_id == event_of(prepared.data).message_id


@pytest.mark.requirement("R-403")
async def test_a_message_that_is_nowhere_is_a_race(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        data = JSONParsed(
            archive_id="a", message_count=1, message_keys=["nowhere"], thread_count=1, thread_ids=["t"],
            parsing_duration_seconds=0, message_threads=["t"],
        )  # fmt: skip
        with pytest.raises(DocumentNotFoundError):
            await place.run(CHUNKING, event_of(data))
        assert ingested(archive_of(b"x")).archive_id
        assert await place.clients.store.find(Thread, "t", Session()) is None
        assert await place.clients.store.find(Message, "nowhere", Session()) is None


async def _parsed_of(place: MailIn) -> tuple[set[str], list[Archive]]:
    """The texts that are stored, and the archives that nobody has asked to delete."""
    found = await place.clients.store.query_documents(Archive, EVERY_ARCHIVE, Session())
    replaced = {row["target"] for row in await place.stored("removals") if row["replaced"]}
    assert {archive.id for archive in found if archive.removing} == replaced
    texts = {row["body_raw"].strip() for row in await place.stored("messages")}
    return texts, [archive for archive in found if not archive.removing]


@pytest.mark.parametrize("by", ["list", "age"])
async def test_an_archive_with_mail_that_may_not_come_in_is_replaced_by_one_without(
    cloud: AppCloud, bus_service: RunningService, by: str
) -> None:
    """However it came to be there: here its file lies in the store already, as a retained original does."""
    async with mail_in(cloud, bus_service) as place:
        content = mail(0, body="Words to forget.") + mail(500, body="Words to keep.")
        place.clients.runtime = Runtime(now=lambda: NOW)
        if by == "list":
            key = message_key("<m0@example.org>")
            await suppress(place.clients, "erase-1", ALL_SOURCES, ErasureMode.DROPPED, [key])
        else:
            source = Source(
                id="list", name="list", source_type="upload", url="", keep_days=400, created_at=NOW
            )
            await place.clients.store.create(source, Session())
        event = await place.ingest(content)
        assert await place.run(PARSING, event) == []
        texts, (kept,) = await _parsed_of(place)
        assert texts == set()
        assert kept.id != archive_of(content).id
        size = kept.file_size_bytes
        assert b"forget" not in await place.clients.blobs.read_part("archives", kept.file_path, 0, size)
        await place.run(PARSING, event_of(ingested(kept)))
        texts, _ = await _parsed_of(place)
        assert texts == {"Words to keep."}
        assert await place.run(PARSING, event) == []  # delivered again
