"""The honest lists that every attack is run against, and all claims of the app about their people and mail."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from shared.mail.subjects import split_subject
from shared.models.readings import StoredReading
from shared.models.values import (
    ConsensusBasis,
    Fate,
    Preset,
    RoleHolder,
    SentenceCitation,
    SourceProfile,
    Tier,
)
from shared.summarization.record_flags import title_marks
from tests.record.forgery_record import ARRIVED, InMemoryRecord, ReadThread

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
CARLA = ("Carla Ruiz", "carla@chairs.example")
ANN, BOB = ("Ann Lee", "ann@lee.example"), ("Bob Stone", "bob@stone.example")
CEM, DEE = ("Cem Yildiz", "cem@yildiz.example"), ("Dee Okafor", "dee@okafor.example")
EVE, FAY = ("Eve Novak", "eve@novak.example"), ("Fay Moreau", "fay@moreau.example")
GUS, HAL = ("Gus Kern", "gus@kern.example"), ("Hal Moss", "hal@moss.example")
JUNO, PAT = ("Juno Maas", "juno@git.example"), ("Pat Olsen", "pat@olsen.example")
RITA, SAM = ("Rita Wolf", "rita@apache.example"), ("Sam Ito", "sam@apache.example")
TOM, UMA = ("Tom Vega", "tom@apache.example"), ("Uma Roy", "uma@roy.example")
LATEST = ARRIVED + timedelta(days=3)
MALLORY, SECOND = ("Mallory Vane", "mallory@evil.example"), ("Trudy Vane", "trudy@evil.example")
HONEST = (CARLA, ANN, BOB, CEM, DEE, EVE, FAY, GUS, HAL, JUNO, PAT, RITA, SAM, TOM, UMA)
ADDRESSES = frozenset(address for _, address in HONEST)

PROFILES = {
    "ietf": SourceProfile(
        Preset.IETF,
        (RoleHolder(CARLA[1], "chair"),),
        gateways=("gateway@lists.example",),
        list_address="ietf@lists.example",
    ),
    "git": SourceProfile(Preset.GIT, (RoleHolder(JUNO[1], "maintainer"),)),
    "apache": SourceProfile(
        Preset.APACHE,
        (
            RoleHolder(RITA[1], "release manager"),
            RoleHolder(SAM[1], "binding"),
            RoleHolder(TOM[1], "binding"),
        ),
    ),
    "checked": SourceProfile(
        Preset.IETF,
        (RoleHolder(CARLA[1], "chair"),),
        authserv_id="mx.list.example",
        requires_authentication=True,
    ),
    "marked": SourceProfile(Preset.IETF, (RoleHolder(CARLA[1], "chair"),), authserv_id="mx.list.example"),
    "lossy": SourceProfile(Preset.FREE),
}
CHECKED = frozenset({"checked", "marked"})


def mail(
    id_: str,
    sender: tuple[str, str],
    text: str,
    *,
    subject: str = "Re: Call for adoption: draft-foo-bar",
    refs: Sequence[str] = (),
    hour: float = 0,
    date: str | None = None,
    more: str = "",
    kind: str = "text/plain; charset=utf-8",
    results: str | None = None,
) -> bytes:
    """Build a message. Without `results` (Authentication-Results) the sender's domain passes."""
    sent = START + timedelta(hours=hour)
    passed = f"Authentication-Results: mx.list.example; dmarc=pass header.from={sender[1].rpartition('@')[2]}"
    lines = [
        f"From x@example.org {sent:%a %b %d %H:%M:%S %Y}",
        f"From: {sender[0]} <{sender[1]}>",
        f"Date: {sent:%a, %d %b %Y %H:%M:%S} +0000" if date is None else f"Date: {date}",
        f"Subject: {subject}",
        f"Message-ID: <{id_}>",
        f"Content-Type: {kind}",
        passed if results is None else results,
    ]
    if refs:
        lines += ["References: " + " ".join(f"<{one}>" for one in refs), f"In-Reply-To: <{refs[-1]}>"]
    return "\n".join(
        [*(line for line in lines if line), *([more] if more else []), "", text, "", ""]
    ).encode()


def wrote(person: tuple[str, str], *lines: str) -> str:
    """Quote another person's words as mailers do."""
    return f"On Mon, Jan 5, 2026, {person[0]} <{person[1]}> wrote:\n" + "".join(
        f"> {line}\n" for line in lines
    )


CALL = (
    "This is a call for adoption of draft-foo-bar. Please say whether you support adoption or object to it."
)
TO_CALL = wrote(CARLA, "Please say whether you support adoption or object to it.")
PROPOSAL = "I propose to drop the old archive format. Nobody has used it for years, and it costs us tests."
TO_PROPOSAL = wrote(EVE, "I propose to drop the old archive format.")
DIFF = "\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-a\n+b\n"
IN_CALL: dict[str, Any] = {"refs": ["call"]}
DROP: dict[str, Any] = {"subject": "Re: Drop the old archive format", "refs": ["drop"]}
PATCH: dict[str, Any] = {"subject": "Re: [PATCH] parser: keep the last line", "refs": ["patch"]}
VOTE: dict[str, Any] = {"subject": "Re: [VOTE] Release Example 1.2", "refs": ["vote"]}
ORPHANS: dict[str, Any] = {"subject": "Re: Rename the tool", "refs": ["missing"]}
TO_MISSING = wrote(HAL, "Should we rename the tool to avoid the clash with the other one?")


def _call(list_: str) -> list[bytes]:
    return [
        mail("call", CARLA, CALL, subject="Call for adoption: draft-foo-bar"),
        mail("call-ann", ANN, f"{TO_CALL}\nI support adoption of this draft.", hour=1, **IN_CALL),
        mail("call-bob", BOB, f"{TO_CALL}\nI support adoption. We have an implementation.", hour=2, **IN_CALL),
        mail("call-cem", CEM, f"{TO_CALL}\nI object to adoption of this draft. It breaks deployments.", hour=3, **IN_CALL),
        mail("call-dee", DEE, f"{TO_CALL}\nI do not support adoption: the security section is missing.", hour=4, **IN_CALL),
        mail("drop", EVE, PROPOSAL, subject="Drop the old archive format", hour=5),
        mail("drop-ann", ANN, f"{TO_PROPOSAL}\nI support this proposal.", hour=6, **DROP),
        mail("drop-bob", BOB, f"{TO_PROPOSAL}\nI support this proposal, too.", hour=7, **DROP),
        mail("drop-cem", CEM, f"{TO_PROPOSAL}\nI agree with this proposal.", hour=8, **DROP),
        mail("ruled", CARLA, "This is a call for adoption of draft-old-one. Please state your support or objection.", subject="Adoption of draft-old-one", hour=9),
        mail("ruled-ann", ANN, "I support adoption of this draft.", subject="Re: Adoption of draft-old-one", refs=["ruled"], hour=10),
        mail("ruled-end", CARLA, "As chair, I declare that there is rough consensus to adopt this draft. The call is closed.", subject="Re: Adoption of draft-old-one", refs=["ruled"], hour=40),
        mail("ask", FAY, "How do I list all files of an archive? I cannot find the option in the manual.", subject="Listing files?", hour=11),
        mail("ask-gus", GUS, "Use the option with two dashes and the word list. It prints every file, one to a line, in order.", subject="Re: Listing files?", refs=["ask"], hour=12),
        mail("ask-end", FAY, "Thanks, that works like a charm now.", subject="Re: Listing files?", refs=["ask", "ask-gus"], hour=13),
        mail("orphan-ann", ANN, f"{TO_MISSING}\nI support renaming it.", hour=14, **ORPHANS),
        mail("orphan-bob", BOB, f"{TO_MISSING}\nI object to renaming the tool. It is known by its name.", hour=15, **ORPHANS),
        *([mail("elsewhere", EVE, "A note about another matter, and nothing else.", subject="Another matter", hour=16)] if list_ else []),
    ]  # fmt: skip


HONEST_MAILS: dict[str, list[bytes]] = {
    **{name: _call(name) for name in ("ietf", "checked", "marked")},
    "git": [
        mail("patch", PAT, f"Keep the last line.\n\nSigned-off-by: Pat Olsen <pat@olsen.example>{DIFF}", subject="[PATCH] parser: keep the last line"),
        mail("patch-ann", ANN, "Reviewed-by: Ann Lee <ann@lee.example>", hour=1, **PATCH),
        mail("patch-bob", BOB, f"{wrote(PAT, 'Keep the last line.')}\nThis looks good to me.", hour=2, **PATCH),
        mail("patch-end", JUNO, "Will queue. Thanks.", hour=3, **PATCH),
        mail("rival", GUS, f"Count the entries.\n\nSigned-off-by: Gus Kern <gus@kern.example>{DIFF}", subject="[PATCH] cache: count the entries", hour=5),
        mail("rival-cem", CEM, f"{wrote(GUS, 'Count the entries.')}\nNAK. I object to this patch: it is slow.", subject="Re: [PATCH] cache: count the entries", refs=["rival"], hour=6),
        mail("rival-ann", ANN, "Acked-by: Ann Lee <ann@lee.example>", subject="Re: [PATCH] cache: count the entries", refs=["rival"], hour=7),
    ],
    "apache": [
        mail("vote", RITA, "Please vote on this release.\n\n[ ] +1 release it\n[ ] -1 do not release it", subject="[VOTE] Release Example 1.2"),
        mail("vote-sam", SAM, "+1 (binding)", hour=1, **VOTE),
        mail("vote-tom", TOM, "+1 (binding)", hour=2, **VOTE),
        mail("vote-uma", UMA, "+1 (non-binding)", hour=3, **VOTE),
        mail("vote-bob", BOB, "-1, the checksum is wrong.", hour=4, **VOTE),
        mail("done", RITA, "Please vote on this release.\n\n[ ] +1 release it\n[ ] -1 do not release it", subject="[VOTE] Release Example 1.1", hour=6),
        mail("done-sam", SAM, "+1", subject="Re: [VOTE] Release Example 1.1", refs=["done"], hour=7),
        mail("done-end", RITA, "The vote has passed with three binding +1 and no -1.", subject="Re: [VOTE] Release Example 1.1", refs=["done"], hour=90),
    ],
    "lossy": [
        mail("drop", EVE, PROPOSAL, subject="Drop the old archive format", hour=5),
        mail("drop-ann", ANN, "I support this proposal.", hour=6, **DROP),
        mail("drop-bob", BOB, "I support this proposal, too.", hour=7, **DROP),
        mail("drop-cem", CEM, "I am not sure about the old mails. They may still be read by somebody.", hour=8, **DROP),
    ],
}  # fmt: skip


@cache
def record(list_: str, added: tuple[bytes, ...], *, first: bool = False) -> InMemoryRecord:
    made = InMemoryRecord(PROFILES)
    archives = [b"".join(HONEST_MAILS[list_]), *([b"".join(added)] if added else [])]
    numbers = [*enumerate(archives)]
    # The list's own order is the arrival order of the archives. The order of parsing does not matter.
    for number, content in reversed(numbers) if first else numbers:
        made.take_in(list_, content, f"2026-03-05T00:{number:02d}:00.000000Z")
    return made


@dataclass(frozen=True)
class Claim:
    """A claim about honest people or mail, with the marks that are shown next to it."""

    says: Any
    marks: tuple[str, ...] = ()


@cache
def honest_ids(list_: str) -> frozenset[str]:
    return frozenset(message.message_id for message in record(list_, ()).messages(list_))


@cache
def said_with(list_: str, added: tuple[bytes, ...]) -> dict[tuple[str, ...], Claim]:
    """Return the claims about the honest people after these messages are added."""
    return said(record(list_, added), list_)


def said(made: InMemoryRecord, list_: str) -> dict[tuple[str, ...], Claim]:
    """Return every claim of the API about honest people and mail."""
    known = honest_ids(list_)
    found: dict[tuple[str, ...], Claim] = {}
    for thread in made.threads(list_).values():
        own = sorted(known & thread.messages.keys())
        if own:
            found.update(_claims(thread, own))
    for message in made.messages(list_):
        if message.message_id in known:
            found["mail", message.message_id] = Claim(
                (message.from_.name, message.from_.email, message.subject, message.date, message.body_raw,
                 message.hidden_text, message.in_reply_to, tuple(message.references))
            )  # fmt: skip
    return found


_READ: dict[tuple[Any, ...], dict[tuple[str, ...], Claim]] = {}
"""The claims about a thread, by the content and links of its messages. Most attacks touch one thread."""


def _claims(thread: ReadThread, own: list[str]) -> dict[tuple[str, ...], Claim]:
    content = sorted((id_, message.variant, message.conflicts) for id_, message in thread.messages.items())
    key = (thread.profile, thread.thread.root_message_id, repr(thread.thread.threading), *content)
    if key not in _READ:
        _READ[key] = dict(_of_thread(thread, own))
    return _READ[key]


def _of_thread(thread: ReadThread, own: list[str]) -> Iterator[tuple[tuple[str, ...], Claim]]:
    name, reading, known = own[0], thread.stored, set(own)
    outcome, marks = reading.outcome, tuple(reading.outcome.marks)
    yield ("thread", name), Claim(tuple(own))
    yield ("title", name), Claim(split_subject(thread.facts["subject"]).text, title_marks(thread.thread))
    yield ("beginning", name), Claim(thread.facts["first_message_date"])
    # An attacker's message may be the last one. Its time must not be in the future.
    yield ("end", name), Claim(bool(thread.facts["last_message_date"] > LATEST))
    people = {(one.name, one.email) for one in thread.facts["participants"] if one.email in ADDRESSES}
    yield ("participants", name), Claim(sorted(people))
    yield ("language", name), Claim(reading.lang)
    put = reading.proposition
    # The page shows these marks in one line with the proposition.
    beside = put.marks if put else ()
    yield ("genre", name), Claim((reading.genre.kind, reading.genre.tier), beside)
    yield (
        ("proposition", name),
        Claim((put.message_id, put.form, put.proposer) if put else None, beside),
    )
    # Counts in a sentence are the attacker's own statement if the attacker took a side.
    counted = outcome.basis is ConsensusBasis.COUNTED
    yield (
        ("outcome", name),
        Claim(
            (
                outcome.kind,
                outcome.tier,
                outcome.basis,
                outcome.authority,
                None if counted else outcome.sentence,
            ),
            marks,
        ),
    )
    yield ("consensus", name), Claim((reading.has_consensus, reading.basis), marks)
    yield (
        ("open call", name),
        Claim((reading.open_call.ends, reading.open_call.question) if reading.open_call else None, beside),
    )
    if call := reading.shown_call:
        spoken = sorted(ADDRESSES.intersection(call.spoken))
        yield ("call", name), Claim((call.question, call.ends, spoken), beside)
    yield ("result", name), Claim(reading.result_of)
    yield from _of_sentences(reading, name, known)


def _of_sentences(
    reading: StoredReading, name: str, known: set[str]
) -> Iterator[tuple[tuple[str, ...], Claim]]:
    """Return the claims that rest on a sentence of an honest person."""
    cited: list[tuple[str, SentenceCitation, Any, Sequence[str]]] = [
        *(
            ("objection", one.citation, (one.person, one.fate, one.withdrawal), one.marks)
            for one in reading.objections
            if one.fate is not Fate.UNCLEAR
        ),
        *(
            ("decision", one.citation, (one.person, one.tier), one.marks)
            for one in reading.decisions
            if one.tier is Tier.SAID
        ),
        *(("tally", one.citation, one.by, ()) for one in reading.tallies),
        # Possible decisions and objections, open issues and key points are quoted under no heading.
        *(("quoted", one.citation, True, one.marks) for one in reading.objections),
        *(("quoted", one.citation, True, one.marks) for one in reading.decisions),
        *(("quoted", one, True, ()) for one in (*reading.open_issues, *reading.key_points)),
        *(("quoted", one.citation, True, ()) for one in reading.positions),
    ]
    for kind, citation, says, marks in cited:
        if citation.message_id in known:
            yield (kind, name, citation.quote), Claim(says, tuple(marks))
    for position in reading.positions:
        if position.person in ADDRESSES and position.citation.message_id in known:
            shown = (position.name, position.stance, position.tier, position.citation, position.answers,
                     position.binding, position.earlier)  # fmt: skip
            yield ("position", name, position.person), Claim(shown, position.marks)


@dataclass(frozen=True)
class Attack:
    """Messages of an attacker, and their honest twin: harmless messages of the same person."""

    name: str
    list: str
    mails: tuple[bytes, ...]
    twin: tuple[bytes, ...] = ()
    alters: frozenset[str] = field(default_factory=frozenset)
    """Kinds of claims that any person's plain statement alters, the attacker's included."""


def changed(attack: Attack) -> dict[tuple[str, ...], tuple[Claim | None, Claim | None]]:
    """Return the claims about honest people that differ from the twin's claims and carry no mark."""
    twin, attacked = (said_with(attack.list, mails) for mails in (attack.twin, attack.mails))
    assert twin, "nothing to compare"
    keys: Iterable[tuple[str, ...]] = twin.keys() | attacked.keys()
    found = {
        key: (twin.get(key), attacked.get(key))
        for key in keys
        if _says(twin.get(key)) != _says(attacked.get(key))
    }
    return {
        key: (before, after)
        for key, (before, after) in found.items()
        if key[0] not in attack.alters
        and not (after and set(after.marks) - set(before.marks if before else ()))
    }


def _says(claim: Claim | None) -> Any:
    return claim.says if claim else None
