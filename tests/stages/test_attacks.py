"""Attacks that once succeeded, run through the stages on the local cloud, each with its honest twin.

The report of the honest twin is the same, byte for byte, except for the flag.
"""

import io
import json
import re
import zipfile
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import message_key, thread_id
from shared.models.sources import Archive, Source, SourceRole
from shared.models.threads import Message, Thread
from shared.models.values import Preset
from shared.views.mails import original_bytes
from shared.views.threads import conversation_of, find_by_id
from tests.operations.removal.finished import finish
from tests.record.test_forgeries import (
    ATTACKS,
    CHAIR,
    HONEST,
    HTML,
    OTHER_THREADS,
    PEOPLE,
    RULES,
    SUPPORTS,
    Attack,
    forged,
)
from tests.stages.mail_in import NOW, MailIn, archive_of, mail_in
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.services import RunningService

CALL = thread_id("<call>", "list")
OF_OLD = (
    "same id on another list, first",
    "same id, earlier date",
    "sixty references on another list",
    "an outsider rules",
    "a forged From that fails",
    "twenty plus-addresses",
    "hidden text",
)
ARRIVED = NOW + timedelta(days=60)
"""After the messages, because a date later than the archive counts as no date."""
MOVING = (
    "summary_number",
    "published_at",
    "created_at",
    "report_id",
    "id",
    "summary_id",
    "_etag",
    "_ts",
    "_rid",
    "_self",
    "evidence",
)


async def reported(cloud: AppCloud, bus: RunningService, attack: Attack | None) -> dict[str, dict[str, Any]]:
    """Return the current reports of the list's threads, with their summaries, by thread."""
    async with mail_in(cloud, bus) as place:
        await take_in(place, attack)
        return await current(place)


async def take_in(place: MailIn, attack: Attack | None) -> None:
    await place.clients.store.create(list_source(), Session())
    honest = [("list", HONEST + OTHER_THREADS.partition(b"From x@example")[0])]
    attacking = [(attack.source, attack.content)] if attack else []
    archives = [*attacking, *honest] if attack and attack.first else [*honest, *attacking]
    for number, (source, content) in enumerate(archives):
        await place.take_in(content, source, arrived=ARRIVED + timedelta(minutes=number))
        place.now += timedelta(minutes=1)  # the latest summary is the current one
        await finish(place)


async def current(place: MailIn) -> dict[str, dict[str, Any]]:
    summaries = {summary["id"]: summary for summary in await place.stored("summaries")}
    return {
        report["thread_id"]: {
            **{name: value for name, value in report.items() if name not in MOVING},
            "content": summaries[report["summary_id"]]["content_markdown"],
            "reading": summaries[report["summary_id"]]["reading"],
        }
        for report in await place.stored("reports")
        if report["source"] == "list"
    }


def list_source() -> Source:
    return Source(
        id="list", name="list", source_type="upload", url="", created_at=CREATED, preset=Preset.IETF,
        roles=[SourceRole(person=CHAIR, role="chair")],
        settings={"authserv_id": "mx.list.example", "require_authenticated": True},
    )  # fmt: skip


THANKS = "I thank everybody here who has told us what they thought of the draft."
TWINS: dict[str, bytes] = {
    "an outsider rules": forged("r1", THANKS),
    "a forged From that fails": forged("n6", "", sender=PEOPLE["ann"]),
    "twenty plus-addresses": b"".join(
        forged(f"p{number}", SUPPORTS, sender=("Mallory Vane", "mallory@evil.example"), hour=40 + number)
        for number in range(20)
    ),
    "hidden text": forged("h1", "<p>Hello.</p>", content_type=HTML),
}
"""The same messages without the attack. The twins of other attacks have no added message."""
ADDRESSES = ("participants", "person_ids")
"""Addresses from the messages' headers: twenty for a writer of twenty. They are not counted as people."""


def without_flags(report: dict[str, Any]) -> dict[str, Any]:
    """Remove flags and marks, and the sentences that state them, which are separate lines."""
    lines = [line for line in report["content"].splitlines() if not line.startswith("*")]
    reading = without_marks(report["reading"])
    return {**report, "flags": {}, "reading": reading, "content": [line for line in lines if line]}


def without_marks(stored: Any) -> Any:
    if isinstance(stored, dict):
        return {name: without_marks(value) for name, value in stored.items() if name != "marks"}
    return [without_marks(one) for one in stored] if isinstance(stored, list) else stored


def comparable(report: dict[str, Any], name: str) -> str:
    """Return the report's bytes without flags and marks, with the outsider's words replaced by the twin's."""
    kept = without_flags(report)
    if name == "twenty plus-addresses":
        kept = {key: value for key, value in kept.items() if key not in ADDRESSES}
    said = json.dumps(kept, sort_keys=True, indent=1)
    return re.sub(r"mallory\+\d+@", "mallory@", said).replace(RULES, THANKS)


@pytest.mark.parametrize("name", OF_OLD)
async def test_the_report_is_that_of_the_honest_twin_apart_from_the_flag(
    cloud: AppCloud, bus_service: RunningService, name: str
) -> None:
    (attack,) = [one for one in ATTACKS if one.name == name]
    twin = replace(attack, content=TWINS[name]) if name in TWINS else None
    honest = await reported(cloud, bus_service, twin)
    attacked = await reported(cloud, bus_service, attack)
    assert CALL in honest
    assert "object" in honest[CALL]["content"]
    assert len(RULES) == len(THANKS)
    assert len(honest[CALL]["reading"]["positions"]) >= 4
    assert attacked.keys() == honest.keys()
    for thread, report in honest.items():
        assert comparable(attacked[thread], name) == comparable(report, name)
    assert not honest[CALL]["flags"]
    assert set(attacked[CALL]["flags"]) == ({attack.flag} if attack.flag else set())
    assert not attacked[CALL]["has_consensus"]


@pytest.mark.parametrize("packed", [False, True])
async def test_the_original_bytes_of_every_message_can_be_had_again(
    cloud: AppCloud, bus_service: RunningService, *, packed: bool
) -> None:
    escaped = HONEST.replace(b"I object", b">From here on I object")
    content = escaped
    if packed:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.mbox", OTHER_THREADS[: OTHER_THREADS.index(b"From x@example", 10)])
            archive.writestr("b.mbox", escaped)
        content = file.getvalue()
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(content)
        patch = Patch(archive_of(content).id, set={"format": "zip" if packed else "mbox"})
        await place.clients.store.patch(Archive, patch, Session())
        stored = [stored_message["id"] for stored_message in await place.stored("messages")]
        assert len(stored) == 5 + packed
        raw = {}
        for key in stored:
            message = await find_by_id(place.clients, Message, key)
            raw[message.message_id] = await original_bytes(place.clients, message)
        for mail in escaped.split(b"From x@example ")[1:]:
            original = mail.partition(b"\n")[2]
            (found,) = [one for id_, one in raw.items() if f"Message-ID: {id_}".encode() in original]
            assert found.rstrip(b"\n") == original.rstrip(b"\n")
        assert message_key("<m-ann>", "list") in stored


async def test_a_mail_of_another_list_is_shown_in_the_thread_that_it_answers_and_not_counted(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """A cross-post of the thread's own message does not count either."""
    honest = await reported(cloud, bus_service, None)
    answer = forged("there", SUPPORTS, sender=PEOPLE["eve"], refs=["call", "m-ann"])
    cross_posted = HONEST[HONEST.index(b"From x@example", 10) :].split(b"From x@example ")[1]
    for first in (True, False):
        attack = Attack("from there", answer + b"From x@example " + cross_posted, "other", first=first)
        async with mail_in(cloud, bus_service) as place:
            await take_in(place, attack)
            shown = await current(place)
            assert without_flags(shown[CALL]) == without_flags(honest[CALL])
            thread = await place.clients.store.read(Thread, CALL, Session())
            conversation = await conversation_of(place.clients, thread)
            assert thread.message_count == len(conversation.messages) == 5
            (found,) = conversation.elsewhere
            assert (found.source, found.message_id, found.answers) == ("other", "<there>", "<m-ann>")
            assert found.beginning == SUPPORTS
            there = await place.clients.store.read(Thread, found.thread_id, Session())
            assert there.source == "other"
