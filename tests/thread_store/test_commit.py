"""Commits to the threads of a source: concurrent workers, crashes before labels are written, large batches."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Refusal, Session
from shared.azure.cosmos.store import Store
from shared.core.ids import message_key, thread_id
from shared.core.times import stored_time
from shared.mail.parse import parse_message
from shared.models.queries.named_query import NO_ENTRY, NamedQuery
from shared.models.threads import Message, Thread
from shared.pipeline.readiness import ReadyThread
from shared.thread_store.commit import ArchiveGoneError, ThreadCommit
from shared.thread_store.message_documents import ArchiveOfSource
from shared.thread_store.message_writer import MessageWriter, link_cross_posts
from shared.thread_store.thread_documents import describe_inexact
from shared.threading.assignment import BY_LIMIT, links_of
from shared.threading.limit import assign_within_limit
from shared.threading.prepared_message import PreparedMessage, prepare_message
from tests.stages.mail_in import mail
from tests.support.cosmos_engine import clients_on_engine
from tests.support.documents import CREATED

THREADS = NamedQuery("threads_now", "threads", f"SELECT * FROM c WHERE {NO_ENTRY}")
TODOS = NamedQuery("todos_now", "threads", "SELECT * FROM c WHERE c.kind = 'todo'")
MESSAGES = NamedQuery("messages_now", "messages", "SELECT * FROM c")


@pytest_asyncio.fixture
async def clients() -> AsyncIterator[Clients]:
    async with clients_on_engine() as found:
        yield found


def prepared(*mails: bytes) -> list[PreparedMessage]:
    return [prepare_message(parse_message(content.partition(b"\n")[2])) for content in mails]


def archive(name: str, source: str = "list") -> ArchiveOfSource:
    return ArchiveOfSource(name, source, stored_time(CREATED))


async def take_in(clients: Clients, name: str, *mails: bytes, source: str = "list") -> ThreadCommit:
    commit = ThreadCommit(clients, source, Session(), archive(name, source))
    await commit.add(prepared(*mails), archive(name, source))
    return commit


async def rows(clients: Clients, query: NamedQuery) -> list[dict[str, Any]]:
    session = Session()
    return [row async for row in clients.store.query(query, session)]


async def members(clients: Clients) -> dict[str, set[str]]:
    """Return the Message-IDs in each thread that is not a redirect."""
    return {
        row["id"]: {member["id"] for member in row["threading"]["members"]}
        for row in await rows(clients, THREADS)
        if not row["merged_into"]
    }


def threaded_at_once(mails: Sequence[bytes], source: str = "list") -> dict[str, set[str]]:
    links = [links_of(parse_message(content.partition(b"\n")[2])) for content in mails]
    result = assign_within_limit(links, {}, source)
    return {name: set(state.members) for name, state in result.threads.items()}


async def check_labels(clients: Clients) -> None:
    homes = {
        message_key(node, "list"): name for name, found in (await members(clients)).items() for node in found
    }
    assert {row["id"]: row["thread_id"] for row in await rows(clients, MESSAGES)} == homes


def count_refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    refused: list[str] = []
    transact = Store.transact

    async def counted(self: Store, *given: Any) -> Any:
        done = await transact(self, *given)
        if isinstance(done, Refusal):
            refused.append(done.id)
        return done

    monkeypatch.setattr(Store, "transact", counted)
    return refused


# A chain of mails that arrive in any order, so that threads merge and split.
CHAIN = [
    mail(number, parent=number - 1 if number else None, subject=f"Matter {number}") for number in range(12)
]


async def test_workers_at_once_make_the_threads_that_all_mails_make_together(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = count_refusals(monkeypatch)
    parts = [CHAIN[number::4] for number in (2, 0, 3, 1)]
    await asyncio.gather(*(take_in(clients, f"a{number}", *part) for number, part in enumerate(parts)))
    assert refused, "no two workers met"
    assert await members(clients) == threaded_at_once(CHAIN)
    await check_labels(clients)


async def test_sources_do_not_wait_for_each_other(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = count_refusals(monkeypatch)
    await asyncio.gather(*(take_in(clients, name, *CHAIN, source=name) for name in ("one", "two", "three")))
    assert refused == []
    assert await rows(clients, NamedQuery("locks_now", "locks", "SELECT * FROM c")) == []


async def test_a_worker_that_is_overtaken_often_takes_the_advisory_lock(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [[content] for content in CHAIN]
    await asyncio.gather(*(take_in(clients, f"a{number}", *part) for number, part in enumerate(parts)))
    assert await members(clients) == threaded_at_once(CHAIN)
    locks = await rows(clients, NamedQuery("locks_now", "locks", "SELECT * FROM c"))
    assert [lock["owner"] for lock in locks] == [""]


async def test_what_breaks_off_after_the_commit_is_finished_by_the_sweep(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, linking = CHAIN[1:3] + CHAIN[4:6], [CHAIN[0], CHAIN[3]]
    await take_in(clients, "a", *before)

    async def broken(*_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as without:
        without.setattr(MessageWriter, "write", broken)
        with pytest.raises(ConnectionError):
            await take_in(clients, "b", *linking)
    (todo,) = await rows(clients, TODOS)
    assert todo["keys"]
    # A plan that is made before the labels are written reads the threads that the todo names.
    await take_in(clients, "c", CHAIN[6])
    assert await members(clients) == threaded_at_once([*before, *linking, CHAIN[6]])
    commit = ThreadCommit(clients, "list", Session())
    await commit.forget_todos(await commit.finish_open())
    await take_in(clients, "b", *linking)
    assert await rows(clients, TODOS) == []
    await check_labels(clients)


async def test_a_mail_whose_threads_do_not_fit_a_batch_starts_a_thread_of_its_own(clients: Clients) -> None:
    number = 120
    waiting = [
        mail(n, subject=f"Matter {n}").replace(
            b"Message-ID:", f"References: <root{n}@example.org> <m500@example.org>\nMessage-ID:".encode()
        )
        for n in range(number)
    ]
    await take_in(clients, "a", *waiting)
    assert len(await members(clients)) == number
    await take_in(clients, "b", mail(500, subject="They all name it"))
    found = await members(clients)
    assert len(found) == number + 1
    alone = thread_id("<m500@example.org>", "list")
    (stored,) = [row for row in await rows(clients, THREADS) if row["id"] == alone]
    assert [member["via"] for member in stored["threading"]["members"]] == [BY_LIMIT]
    await check_labels(clients)


async def test_nothing_of_an_archive_is_committed_after_its_tombstone(clients: Clients) -> None:
    commit = ThreadCommit(clients, "list", Session(), archive("a"))
    await commit.add(prepared(*CHAIN[:2]), archive("a"))
    await ThreadCommit(clients, "list", Session()).bury("a", archive("a").arrived)
    with pytest.raises(ArchiveGoneError):
        await commit.add(prepared(*CHAIN[2:4]), archive("a"))
    later = ArchiveOfSource("a", "list", stored_time(CREATED.replace(year=2027)))
    await ThreadCommit(clients, "list", Session(), later).add(prepared(*CHAIN[2:4]), later)
    assert set().union(*(await members(clients)).values()) == {f"<m{n}@example.org>" for n in range(4)}


async def test_a_placement_counts_for_a_mail_that_comes_later(clients: Clients) -> None:
    await take_in(clients, "a", CHAIN[0])
    commit = ThreadCommit(clients, "list", Session())
    await commit.place("<m1@example.org>", None, "")
    await take_in(clients, "b", CHAIN[1])
    assert len(await members(clients)) == 2


async def test_the_archives_of_a_thread_are_those_of_its_entries_even_where_labels_are_behind(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, first, answer = mail(30), mail(1), mail(31, parent=30)
    answer = answer.replace(b"In-Reply-To:", b"References: <m1@example.org> <m30@example.org>\nIn-Reply-To:")
    await take_in(clients, "a", first, answer)
    await take_in(clients, "b", answer)
    await take_in(clients, "c", late)  # moves its answer out of the thread

    async def broken(*_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as without:
        without.setattr(MessageWriter, "write", broken)
        with pytest.raises(ConnectionError):
            await take_in(clients, "d", first)
    keys = [message_key(f"<m{number}@example.org>", "list") for number in (1, 30)]
    threads = await clients.store.find_many(Thread, keys, Session())
    assert all(thread.inexact for thread in threads.values())
    ready = [ReadyThread(thread, "version") for thread in threads.values()]
    assert len(await describe_inexact(clients, ready, Session())) == 2
    threads = await clients.store.find_many(Thread, keys, Session())
    assert [threads[key].inexact for key in keys] == [False, False]
    assert [threads[key].archive_ids for key in keys] == [["a", "d"], ["a", "b", "c"]]


async def test_a_text_that_comes_first_is_stored_although_another_worker_labels_the_message_before(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, earlier = mail(1, body="The text of the later archive."), mail(1, body="The text that comes first.")
    await take_in(clients, "late", late)
    write, overtaken = MessageWriter.write, list[str]()

    async def overtake(self: MessageWriter, *given: Any) -> None:
        if not overtaken:
            overtaken.append("other")
            await take_in(clients, "other", late)
        await write(self, *given)

    first = ArchiveOfSource("earlier", "list", stored_time(CREATED - timedelta(days=1)))
    with monkeypatch.context() as between:
        between.setattr(MessageWriter, "write", overtake)
        await ThreadCommit(clients, "list", Session(), first).add(prepared(earlier), first)
    (stored,) = await rows(clients, MESSAGES)
    assert overtaken == ["other"]
    assert stored["copies"][0]["archive_id"] == "earlier"
    assert stored["archive_ids"] == ["earlier", "late", "other"]
    assert "The text that comes first." in stored["body_normalized"]
    assert stored["variant"] == stored["copies"][0]["variant"]


async def test_a_copy_that_is_deleted_while_another_is_told_of_it_is_forgotten(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take_in(clients, "a", CHAIN[0])
    await take_in(clients, "b", CHAIN[0], source="other")
    key = message_key("<m0@example.org>", "other")
    (kept,) = [row for row in await rows(clients, MESSAGES) if row["id"] != key]
    await clients.store.patch(
        Message, Patch(kept["id"], set={"elsewhere": [], "sources": ["list"]}), Session()
    )
    patch_all, deleted = Store.patch_all, list[bool]()

    async def delete_before(self: Store, *given: Any, **options: Any) -> Any:
        if not deleted:
            deleted.append(await self.delete(Message, key, Session()))
        return await patch_all(self, *given, **options)

    with monkeypatch.context() as between:
        between.setattr(Store, "patch_all", delete_before)
        await link_cross_posts(clients, "list", {kept["post_id"]: kept["id"]}, (), Session())
    (stored,) = await rows(clients, MESSAGES)
    assert deleted == [True]
    assert (stored["elsewhere"], stored["sources"]) == ([], ["list"])


async def test_a_worker_that_breaks_off_leaves_what_a_later_one_has_linked(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take_in(clients, "b", CHAIN[0], source="other")
    patch_all, overtaken = Store.patch_all, list[str]()

    async def break_off(self: Store, model: Any, patches: Any, *given: Any, **options: Any) -> Any:
        patches = list(patches)
        if overtaken or not any("elsewhere" in patch.set for patch in patches):
            return await patch_all(self, model, patches, *given, **options)
        overtaken.append("third")
        await take_in(clients, "c", CHAIN[0], source="third")
        await patch_all(self, model, patches, *given, **options)
        raise ConnectionError

    with monkeypatch.context() as between:
        between.setattr(Store, "patch_all", break_off)
        with pytest.raises(ConnectionError):
            await take_in(clients, "a", CHAIN[0])
    sources = {row["source"]: row["sources"] for row in await rows(clients, MESSAGES)}
    assert set(sources) == {"list", "other", "third"}
    assert all(found == ["list", "other", "third"] for found in sources.values())
