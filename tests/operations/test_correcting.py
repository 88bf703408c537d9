"""Operators correct the reading of a thread. The correction is permanent and names its author."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio
from pydantic import ValidationError

from evaluation.consensus_scores import score_threads
from shared.azure.cosmos.session import Session
from shared.core.errors import EditConflictError, InvalidEditError
from shared.models.containers import document_class
from shared.models.edits import Correction, CorrectionAct
from shared.models.queries.operations import LAST_AUDITS
from shared.models.reports import Summary
from shared.models.threads import Thread
from shared.models.values import Genre, OutcomeKind, PositionStance, Tier
from shared.operations import correcting
from shared.operations.audit import Operator
from shared.operations.background import ThreadSelection, request_resummarizing, run_resummarizing
from shared.operations.correcting import (
    CorrectionAsked,
    correct,
    correction_labels,
    corrections_of_thread,
    revoke,
)
from tests.stages.mail_in import mail, mail_in
from tests.stages.reported import ReportedThreads
from tests.support.chat_endpoint import completion, serving
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN, BEN = Operator("ann", "api"), Operator("ben", "api")
SUPPORT = "I support adoption of this draft as it is."
DOUBT = "I am not so sure that anybody needs it."
MAILS = [
    mail(0, subject="Adopt the draft", body="I propose that we adopt the draft as a group document."),
    mail(1, parent=0, subject="Re: Adopt the draft", body=SUPPORT),
    mail(2, parent=0, subject="Re: Adopt the draft", body=f"Thanks for the text.\n\n{DOUBT}"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[ReportedThreads]:
    async with mail_in(cloud, bus_service) as ready:
        threads = ReportedThreads(ready)
        await threads.take_in(*MAILS)
        await threads.request(0)
        assert await threads.work_off(1) == 1
        yield threads


def asked(kind: str, **fields: Any) -> CorrectionAsked:
    return CorrectionAsked.model_validate({"kind": kind, "reason": "read by hand", **fields})


async def corrected(place: ReportedThreads, kind: str, **fields: Any) -> Correction:
    made = await correct(place.clients, place.thread_id(0), asked(kind, **fields), ANN)
    assert await place.work_off(1) == 1
    return made


async def said(place: ReportedThreads) -> dict[str, PositionStance]:
    reading = (await place.summary(0)).reading
    assert reading is not None
    return {one.person: one.stance for one in reading.positions if one.tier is Tier.SAID}


def claimed(summary: Summary, section: str) -> list[str]:
    return [claim.text for claim in summary.claims if claim.section == section]


async def test_a_position_is_corrected_and_a_new_one_is_shown_with_its_sentence(
    place: ReportedThreads,
) -> None:
    assert await said(place) == {place.address("bo"): PositionStance.SUPPORT}
    first = await place.report(0)
    await corrected(place, "position", message_id=place.id_of(2), stance="oppose", quote=DOUBT)
    assert await said(place) == {
        place.address("bo"): PositionStance.SUPPORT,
        place.address("cy"): PositionStance.OPPOSE,
    }
    summary, report = await place.summary(0), await place.report(0)
    assert claimed(summary, "dissent") == [DOUBT]
    assert (report.counts, report.has_consensus) == ({"support": 1, "objection": 1}, False)
    assert (report.consensus_type, report.report_id != first.report_id) == ("mixed", True)
    assert summary.reading is not None
    (shown,) = summary.reading.corrections
    assert (shown.by, shown.reason, shown.person) == ("ann", "read by hand", place.address("cy"))
    made = await corrected(place, "position", message_id=place.id_of(1), stance="none")
    assert await said(place) == {place.address("cy"): PositionStance.OPPOSE}
    assert claimed(await place.summary(0), "agreed") == []
    stored = json.dumps(made.to_cosmos())
    assert SUPPORT not in stored  # no text of messages, and no address
    assert place.address("bo") not in stored


async def test_outcome_genre_and_a_hidden_sentence(place: ReportedThreads) -> None:
    await corrected(place, "outcome", outcome="rejected", sentence="Turned down after a hallway talk.")
    thread, report = await place.thread(0), await place.report(0)
    assert thread.outcome == report.outcome
    assert report.outcome is not None
    assert report.outcome.corrected is not None
    assert (report.outcome.kind, report.outcome.tier) == (OutcomeKind.REJECTED, Tier.SAID)
    assert (report.outcome.sentence, report.outcome.corrected.by) == (
        "Turned down after a hallway talk.",
        "ann",
    )
    assert not report.has_consensus
    assert (await place.summary(0)).content_markdown.count("Turned down after a hallway talk.") == 1
    await corrected(place, "genre", genre="call")
    reading = (await place.summary(0)).reading
    assert reading is not None
    assert (reading.genre.kind, reading.genre.tier) == (Genre.CALL, Tier.SAID)
    assert SUPPORT in (await place.summary(0)).content_markdown
    await corrected(place, "hidden", message_id=place.id_of(1), quote=SUPPORT)
    summary = await place.summary(0)
    assert SUPPORT not in summary.content_markdown
    assert await said(place) == {}
    assert summary.counts == {}
    assert all(SUPPORT not in citation.quote for citation in summary.citations)


async def test_it_is_kept_over_summaries_made_anew_and_late_mails(
    place: ReportedThreads,
) -> None:
    await corrected(place, "outcome", outcome="accepted", sentence="Adopted in the meeting.")
    await corrected(place, "position", message_id=place.id_of(2), stance="support", quote=DOUBT)
    selection = ThreadSelection(thread=place.thread_id(0))
    audit = await request_resummarizing(place.clients, selection, ANN, in_background=False)
    await run_resummarizing(place.clients, audit.id)
    assert await place.work_off(1) == 1
    await place.take_in(mail(7, parent=0, body="Should we take up the draft at all?"))
    (thread,) = await place.mail_in.stored("threads")
    assert thread["message_count"] == 4
    await place.request(0)
    await place.work_off(1)
    summary = await place.summary(0)
    assert summary.reading is not None
    assert summary.reading.outcome.sentence == "Adopted in the meeting."
    assert {one.person for one in summary.reading.positions if one.rule == "corrected"} == {
        place.address("cy")
    }
    assert len(summary.reading.corrections) == 2


async def test_a_merged_thread_knows_that_a_part_of_it_was_corrected(place: ReportedThreads) -> None:
    """Its summary then also reads corrections that a replica may not show yet."""
    await place.take_in(mail(9, parent=8, subject="Another matter", body="I propose a registry."))
    other, whole = place.thread_id(8), place.thread_id(0)
    outcome = asked("outcome", outcome="rejected", message_id=place.id_of(9))
    await correct(place.clients, other, outcome, ANN)
    await place.take_in(mail(8, parent=0, subject="It links the two"))
    assert (await place.store.read(Thread, whole, Session())).corrections == 1
    # If the merge comes between the correction and the update of its thread, the correction follows.
    await correcting._request_new_summary(place.clients, other, Session())
    assert (await place.store.read(Thread, whole, Session())).corrections == 2
    await place.work_off(2)  # both requested summaries, because the next test has the same queue


async def test_it_comes_back_with_its_archive(place: ReportedThreads) -> None:
    """Everything of the thread is deleted except the correction, and then the mail arrives again."""
    await corrected(place, "genre", genre="report")
    for container in ("threads", "summaries", "reports", "messages", "chunks", "archives"):
        for row in await place.mail_in.stored(container):
            await _delete(place, container, row)
    await place.take_in(*MAILS, mail(3, parent=0, body="One more, so that the archive is another one."))
    await place.request(0)
    assert await place.work_off(1) == 1
    reading = (await place.summary(0)).reading
    assert reading is not None
    assert (reading.genre.kind, [one.by for one in reading.corrections]) == (Genre.REPORT, ["ann"])


async def _delete(place: ReportedThreads, container: str, row: dict[str, Any]) -> None:
    model = document_class(container)
    named = None if model.follows_from_id() else str(row[model.partition_field])
    await place.store.delete(model, row["id"], Session(), partition=named)


async def test_it_is_revoked_on_record(place: ReportedThreads) -> None:
    before = await place.summary(0)
    made = await corrected(place, "outcome", outcome="contested")
    revoked = await revoke(place.clients, made.id, "I was wrong", BEN, etag=made.etag)
    assert await place.work_off(1) == 1
    summary = await place.summary(0)
    assert summary.reading is not None
    assert before.reading is not None
    assert summary.reading == before.reading
    assert [(entry.act, entry.by, entry.reason) for entry in revoked.entries] == [
        (CorrectionAct.MADE, "ann", "read by hand"),
        (CorrectionAct.REVOKED, "ben", "I was wrong"),
    ]
    (kept,) = await corrections_of_thread(place.clients, place.thread_id(0))
    assert kept.revoked
    rows: list[Any] = [row async for row in place.store.query(LAST_AUDITS, Session(), limit=10)]
    assert {"correction.make", "correction.revoke"} <= {row["action"] for row in rows}
    again = await corrected(place, "outcome", outcome="accepted")  # needs no ETag: no correction exists
    assert (again.id, again.revoked, len(again.entries)) == (made.id, False, 3)


async def test_of_two_who_correct_the_same_one_is_told(place: ReportedThreads) -> None:
    thread = place.thread_id(0)
    both = await asyncio.gather(
        correct(place.clients, thread, asked("outcome", outcome="accepted"), ANN),
        correct(place.clients, thread, asked("outcome", outcome="rejected"), BEN),
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in both) == ["Correction", "EditConflictError"]
    (won,) = [answer for answer in both if isinstance(answer, Correction)]
    with pytest.raises(EditConflictError):
        await correct(place.clients, thread, asked("outcome", outcome="contested"), BEN, etag='"stale"')
    changed = await correct(place.clients, thread, asked("outcome", outcome="contested"), BEN, etag=won.etag)
    assert (changed.value.outcome, changed.last.by) == (OutcomeKind.CONTESTED, "ben")
    with pytest.raises(EditConflictError):
        await revoke(place.clients, won.id, "late", ANN, etag=won.etag)
    await place.work_off(2)
    reading = (await place.summary(0)).reading
    assert reading is not None
    assert reading.outcome.kind is OutcomeKind.CONTESTED


async def test_the_same_correction_again_changes_nothing_and_makes_the_thread_anew(
    place: ReportedThreads,
) -> None:
    """Repeat a correction as after a crash between the correction and the request."""
    made = await corrected(place, "genre", genre="call")
    again = await corrected(place, "genre", genre="call")
    assert (again.etag, len(again.entries)) == (made.etag, 1)


async def test_labels_name_what_people_said(place: ReportedThreads) -> None:
    await corrected(place, "position", message_id=place.id_of(2), stance="oppose", quote=DOUBT)
    await corrected(place, "outcome", outcome="contested", sentence="No agreement.")
    (label,) = [label async for label in correction_labels(place.clients)]
    wanted = json.loads(json.dumps(label))
    assert (wanted["thread"], wanted["outcome"]) == (place.thread_id(0), "contested")
    assert {
        "person": place.address("cy"), "stance": "oppose", "explicit": True,
        "message_id": place.id_of(2).strip("<>"), "quote": DOUBT,
    } in wanted["positions"]  # fmt: skip
    assert wanted["labelled"] == ["outcome", f"positions/{place.address('cy')}"]
    assert (wanted["labelled_by"], len(wanted["message_ids"])) == (["ann"], 3)
    said = {"person": place.address("cy"), "stance": "oppose"}
    (scored,) = score_threads([wanted], [{"thread": wanted["thread"], "positions": [said]}])
    assert (scored["pos_tp"], scored["pos_p"], scored["pos_g"]) == (1, 1, 2)  # as the scorer reads labels


async def test_a_chat_model_is_not_asked_again(cloud: AppCloud, bus_service: RunningService) -> None:
    doubt = {"mail": 3, "quote": DOUBT}
    answer = {
        "genre": "proposal",
        "summary": [{"text": "Cy Example is not so sure that anybody needs it.", "evidence": [doubt]}],
    }
    async with serving(lambda _asked: completion(answer)) as endpoint:
        chat = {"SUMMARY_BACKEND": "openai", "SUMMARY_MODEL": "toy", "SUMMARY_ENDPOINT": endpoint.url}
        sizes = {"SUMMARY_CONTEXT_TOKENS": "6000"}
        async with mail_in(cloud, bus_service, **chat, **sizes) as ready:
            threads = ReportedThreads(ready)
            await threads.take_in(*MAILS)
            await threads.request(0)
            assert await threads.work_off(1) == 1
            asked_before = len(endpoint.requests)
            assert asked_before > 0
            first = await threads.summary(0)
            assert "Cy Example is not so sure that anybody needs it." in first.content_markdown
            await corrected(threads, "genre", genre="call")
            assert (
                "Cy Example is not so sure that anybody needs it."
                in (await threads.summary(0)).content_markdown
            )
            await corrected(threads, "position", message_id=threads.id_of(2), stance="oppose", quote=DOUBT)
            second = await threads.summary(0)
            assert len(endpoint.requests) == asked_before
            assert DOUBT in claimed(second, "dissent")
            # The model's sentences on the corrected part.
            assert "Cy Example is not so" not in second.content_markdown
            await corrected(threads, "hidden", message_id=threads.id_of(2), quote=DOUBT)
            third = await threads.summary(0)
            assert len(endpoint.requests) == asked_before
            assert DOUBT not in third.content_markdown


WRONG: Sequence[tuple[dict[str, Any], str]] = [
    ({"kind": "position", "stance": "support"}, "message_id"),
    ({"kind": "position", "stance": "support", "message_id": "<a@b>"}, "quote"),
    ({"kind": "outcome"}, "outcome"),
    ({"kind": "outcome", "outcome": "accepted", "genre": "call"}, "genre"),
    ({"kind": "outcome", "outcome": "accepted", "sentence": "word " * 30}, "25 words"),
    ({"kind": "outcome", "outcome": "accepted", "sentence": "a\u202eb"}, "printable"),
    ({"kind": "genre", "genre": "call", "reason": ""}, "reason"),
    ({"kind": "genre", "genre": "call", "reason": "x" * 501}, "reason"),
    ({"kind": "hidden", "message_id": "<a@b>"}, "quote"),
    ({"kind": "genre", "genre": "call", "by": "somebody else"}, "by"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG)
async def test_bad_input_is_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        CorrectionAsked.model_validate({"reason": "why", **wrong})


async def test_what_is_not_there_cannot_be_corrected(place: ReportedThreads) -> None:
    thread = place.thread_id(0)
    for wrong, named in (
        (asked("position", message_id="<no@where>", stance="none"), "message_id"),
        (asked("hidden", message_id=place.id_of(1), quote="Nobody wrote this."), "quote"),
    ):
        with pytest.raises(InvalidEditError, match=named):
            await correct(place.clients, thread, wrong, ANN)
    with pytest.raises(InvalidEditError, match="thread"):
        await correct(place.clients, "0" * 16, asked("genre", genre="call"), ANN)
    assert (await place.store.read(Thread, thread, Session())).corrections == 0
