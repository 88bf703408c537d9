"""No forged message changes another person's words, thread, position or verdict without a flag.

Each attack is added to an honest list. The words, places and positions of the honest people must stay the
same. If the outcome differs, a flag must report it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from shared.models.values import PositionStance, Preset, RoleHolder, SourceProfile, Tier
from shared.reading.linked_thread import UNAUTHENTICATED
from tests.record.forgery_record import InMemoryRecord, ReadThread

CHAIR = "carla@chairs.example"
PROFILES = {
    "list": SourceProfile(
        Preset.IETF,
        (RoleHolder(CHAIR, "chair"),),
        authserv_id="mx.list.example",
        requires_authentication=True,
    ),
    "other": SourceProfile(Preset.IETF, (RoleHolder("mallory@evil.example", "chair"),)),
}
PEOPLE = {
    "carla": ("Carla Ruiz", CHAIR),
    "ann": ("Ann Lee", "ann@lee.example"),
    "bob": ("Bob Stone", "bob@stone.example"),
    "cem": ("Cem Yildiz", "cem@yildiz.example"),
    "dee": ("Dee Okafor", "dee@okafor.example"),
    "eve": ("Eve Novak", "eve@novak.example"),
}
START = datetime(2026, 1, 5, 10, tzinfo=UTC)


def mail(
    id_: str,
    sender: tuple[str, str],
    text: str,
    *,
    subject: str = "Re: Call for adoption: draft-foo-bar",
    refs: Sequence[str] = (),
    parent: str | None = None,
    hour: float = 0,
    more: str = "",
    content_type: str = "text/plain; charset=utf-8",
) -> bytes:
    date = START + timedelta(hours=hour)
    lines = [
        f"From x@example {date:%a %b %d %H:%M:%S %Y}",
        f"From: {sender[0]} <{sender[1]}>",
        f"Date: {date:%a, %d %b %Y %H:%M:%S} +0000",
        f"Subject: {subject}",
        f"Message-ID: <{id_}>",
        f"Content-Type: {content_type}",
    ]
    if "Authentication-Results" not in more:  # the list's own server writes these
        lines.append(f"Authentication-Results: mx.list.example; dmarc=pass header.from={_domain(sender[1])}")
    if refs:
        lines.append("References: " + " ".join(f"<{one}>" for one in refs))
    if parent or refs:
        lines.append(f"In-Reply-To: <{parent or refs[-1]}>")
    return ("\n".join([*lines, *([more] if more else []), "", text, "", ""])).encode()


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


CALL = mail(
    "call", PEOPLE["carla"],
    "This is a call for adoption of draft-foo-bar. Please say whether you support adoption or object to it.",
    subject="Call for adoption: draft-foo-bar",
)  # fmt: skip
OBJECTIONS = {
    "ann": "I object to adoption of this draft. It breaks existing deployments.",
    "bob": "I do not support adoption: the security section is missing.",
    "cem": "I am opposed to adopting this. Nobody has implemented it.",
    "dee": "I oppose adoption of the draft, because it repeats what another one does.",
}
OBJECTS = OBJECTIONS["bob"]
HONEST = CALL + b"".join(
    mail(f"m-{name}", PEOPLE[name], text, refs=["call"], hour=number + 1)
    for number, (name, text) in enumerate(OBJECTIONS.items())
)
OTHER_THREADS = b"".join(
    mail(f"t{number}", PEOPLE["eve"], f"A note about matter number {number}, and nothing else.",
         subject=f"Matter of the {number}th kind", hour=20 + number)
    for number in range(60)
)  # fmt: skip
SUPPORTS = "I support adoption of this draft."
MALLORY = ("Mallory", "mallory@evil.example")
RULES = "As chair, I declare that there is rough consensus to adopt this draft."
FAILS = "Authentication-Results: mx.list.example; dmarc=fail header.from=lee.example; spf=fail"
ANN = PEOPLE["ann"]


@dataclass(frozen=True)
class Attack:
    name: str
    content: bytes
    source: str = "list"
    first: bool = False
    """The attack is in the archive that arrives first, on another list."""
    flag: str = ""
    """The required flag of the call's thread."""


def forged(id_: str, text: str, **options: object) -> bytes:
    return mail(id_, **{"sender": MALLORY, "refs": ["call"], "hour": 30, **options}, text=text)  # type: ignore[arg-type]


HTML = "text/html; charset=utf-8"
NESTED = (
    "--b\nContent-Type: text/plain\n\nSee below.\n--b\nContent-Type: message/rfc822\n\n"
    "From: Ann Lee <ann@lee.example>\nMessage-ID: <m-ann>\nSubject: Re: Call\n\nI support adoption.\n--b--\n"
)
SAME_ID = {"sender": ANN, "refs": ["call"]}
ATTACKS = [
    Attack("same id, earlier date", mail("m-ann", ANN, SUPPORTS, refs=["call"], hour=-900), flag="conflicting_copies"),
    Attack("same id, later date", mail("m-ann", ANN, SUPPORTS, refs=["call"], hour=90), flag="conflicting_copies"),
    Attack("same id, no date", mail("m-ann", ANN, SUPPORTS, refs=["call"]).replace(b"\nDate:", b"\nX-Date:"), flag="conflicting_copies"),
    Attack("same id on another list", mail("m-ann", ANN, SUPPORTS, refs=["call"], hour=-900), "other", flag="conflicting_copies"),
    Attack("same id on another list, first", mail("m-ann", ANN, SUPPORTS, refs=["call"], hour=-900), "other", first=True, flag="conflicting_copies"),
    Attack("all ids on another list", HONEST.replace(b"I object to adoption", b"I support adoption").replace(b"I oppose", b"I support"), "other", first=True, flag="conflicting_copies"),
    Attack("the call again, as another question", mail("call", PEOPLE["carla"], "Shall we reject this draft for good?", subject="Call for rejection"), flag="conflicting_copies"),
    Attack("same id, other subject", mail("m-bob", PEOPLE["bob"], OBJECTS, refs=["call"], subject="Lunch", hour=2), flag="conflicting_copies"),
    Attack("same id, other references", mail("m-bob", PEOPLE["bob"], OBJECTS, refs=["t1"], hour=2), flag="conflicting_copies"),
    Attack("same id, other sender", mail("m-bob", MALLORY, OBJECTS, refs=["call"], hour=2), flag="conflicting_copies"),
    Attack("same id twice in one file", mail("m-cem", PEOPLE["cem"], SUPPORTS, refs=["call"], hour=3) * 2, flag="conflicting_copies"),
    Attack("same id in other letters", mail("M-ANN", ANN, "Nothing.", hour=40, subject="Empty words")),
    Attack("an id with white space around it", mail(" m-ann ", MALLORY, SUPPORTS, subject="Spaces", hour=40), flag="conflicting_copies"),
    Attack("two ids in one mail", mail("x1", MALLORY, "Two ids.", subject="Two", more="Message-ID: <m-ann>", hour=40)),
    Attack("sixty references on another list", mail("fuse", MALLORY, "All one.", refs=[f"t{n}" for n in range(60)], hour=90), "other"),
    Attack("sixty references on this list", mail("fuse", MALLORY, "All one.", refs=[f"t{n}" for n in range(60)], hour=90)),
    Attack("a thousand references", mail("fuse", MALLORY, "All one.", refs=[f"t{n}" for n in range(60)] * 17, hour=90)),
    Attack("the call as an answer", forged("fake", "See my other thread.", refs=["t1", "call"])),
    Attack("an answer that claims another root", forged("fake", "See there.", refs=["t5", "m-ann"])),
    Attack("references to itself", forged("loop", "Round.", refs=["loop", "call", "loop"])),
    Attack("a circle", forged("c1", "Round.", refs=["c2"]) + forged("c2", "And round.", refs=["c1"])),
    Attack("an ancestor that nobody has", forged("ghost", "Boo.", refs=["nobody", "call"])),
    Attack("the same subject, as a beginning", mail("again", MALLORY, "The real call is here.", subject="Call for adoption: draft-foo-bar", hour=0.5)),
    Attack("a reply by subject alone", mail("sub", MALLORY, "I have read the draft.", hour=35), flag="joined_by_subject"),
    Attack("an answer to a mail that nobody has", forged("orph", "I have read it.", refs=["none", "nil"]), flag="joined_by_subject"),
    Attack("the call's subject in another thread", b"".join(forged(f"in{n}", "Come here.", refs=["t1"], hour=n + 0.9) for n in range(5))),
    Attack("absent ids of sixty threads' subjects", b"".join(forged(f"ab{n}", "All one.", refs=["absent"], subject=f"Re: Matter of the {n}th kind", hour=90) for n in range(60))),
    Attack("twenty plus-addresses", b"".join(mail(f"p{n}", ("Mallory Vane", f"mallory+{n}@evil.example"), SUPPORTS, refs=["call"], hour=40 + n) for n in range(20))),
    Attack("another's name", forged("n1", SUPPORTS, sender=("Ann Lee", "ann@evil.example")), flag="same_names"),
    Attack("another's name in Cyrillic", forged("n2", SUPPORTS, sender=("\u0410nn L\u0435\u0435", "ann@evil.example")), flag="confusable_names"),
    Attack("another's name with signs of no width", forged("n3", SUPPORTS, sender=("Ann\u200b Lee", "ann@evil.example")), flag="same_names"),
    Attack("another's name by a gateway", forged("n4", SUPPORTS, sender=("Ann Lee via Relay", "relay@evil.example"))),
    Attack("another's address as a name", forged("n5", SUPPORTS, sender=('"ann@lee.example"', "mallory@evil.example"))),
    Attack("a forged From that fails", forged("n6", SUPPORTS, sender=ANN, more=FAILS), flag="unauthenticated_senders"),
    Attack("two From fields", forged("n7", SUPPORTS, more="From: Ann Lee <ann@lee.example>")),
    Attack("an outsider rules", forged("r1", RULES), flag="claimed_roles"),
    Attack("the chair's name rules", forged("r2", RULES, sender=("Carla Ruiz", "carla@evil.example")), flag="claimed_roles"),
    Attack("the chair by a gateway rules", forged("r3", RULES, sender=("Carla Ruiz via list", "list@evil.example")), flag="claimed_roles"),
    Attack("another list's chair rules", mail("r4", MALLORY, RULES, refs=["call"], hour=50), "other"),
    Attack("the chair's address fails and rules", forged("r5", RULES, sender=PEOPLE["carla"], more=FAILS), flag="unauthenticated_senders"),
    Attack("the proposer's name withdraws", forged("r6", "I withdraw this call. The call is closed.", sender=("Carla Ruiz", "carla@evil.example")), flag="same_names"),
    Attack("an object of another's ruling", forged("r7", "> As chair, I declare rough consensus to adopt.\n\nCarla said so.")),
    Attack("hidden text", forged("h1", f"<p>Hello.</p><div style='display:none'>{SUPPORTS} {RULES}</div>", content_type=HTML), flag="hidden_text"),
    Attack("a mail inside a mail", forged("h2", NESTED, content_type='multipart/mixed; boundary="b"')),
    Attack("a From line in the body", forged("h3", "Look:\n\n>From ann@lee.example Mon Jan  5 10:00:00 2026\nFrom: Ann Lee <ann@lee.example>\n\nI support adoption.")),
    Attack("an unknown charset", forged("h4", "I have read it.", content_type="text/plain; charset=x-nothing")),
    Attack("UTF-7", forged("h5", "+AEk- support adoption of this draft.", content_type="text/plain; charset=utf-7")),
    Attack("an encoded name", forged("h6", "Read.", sender=("=?utf-8?B?QW5uIExlZQ==?=", "ann@evil.example")), flag="same_names"),
]  # fmt: skip


@cache
def record(attack: Attack | None) -> InMemoryRecord:
    made = InMemoryRecord(PROFILES)
    honest = [("list", HONEST), ("list", OTHER_THREADS)]
    forged_ = [(attack.source, attack.content)] if attack else []
    for source, content in [*forged_, *honest] if attack and attack.first else [*honest, *forged_]:
        made.take_in(source, content)
    return made


def honest_ids() -> set[str]:
    return {message.message_id for message in record(None).messages("list")}


def of_call(threads: dict[str, ReadThread]) -> ReadThread:
    (found,) = [thread for thread in threads.values() if "<call>" in thread.messages]
    return found


def stands(thread: ReadThread, people: set[str]) -> dict[str, PositionStance]:
    return {
        one.person: one.stance
        for one in thread.reading.positions
        if one.tier is Tier.SAID and one.person in people and UNAUTHENTICATED not in one.marks
    }


def test_there_are_the_seven_attacks_of_old_and_thirty_more() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 7 + 30


def test_without_an_attack_the_list_objects_and_nothing_is_flagged() -> None:
    thread = of_call(record(None).threads("list"))
    addresses = {address for _, address in PEOPLE.values()}
    assert set(stands(thread, addresses).values()) == {PositionStance.OPPOSE}
    assert len(stands(thread, addresses)) == 4
    assert thread.flags == {}
    assert not thread.reading.has_consensus


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_changes_nothing_of_the_others_unseen(attack: Attack) -> None:
    before, after = record(None).threads("list"), record(attack).threads("list")
    known = honest_ids()
    words = {id_: one.body_raw for thread in before.values() for id_, one in thread.messages.items()}
    for name, thread in before.items():
        assert set(after[name].messages) & known == set(thread.messages)
        assert {id_: after[name].messages[id_].body_raw for id_ in thread.messages} == {
            id_: words[id_] for id_ in thread.messages
        }
        if set(after[name].messages) == set(thread.messages) and thread is not of_call(before):
            assert after[name].reading.outcome == thread.reading.outcome
    honest, attacked = of_call(before), of_call(after)
    if set(attacked.messages) == set(honest.messages):
        assert attacked.reading == honest.reading
    addresses = {address for _, address in PEOPLE.values()}
    assert stands(attacked, addresses) == stands(honest, addresses)
    assert not attacked.reading.has_consensus
    if attack.flag:
        assert attack.flag in attacked.flags
    if (attacked.reading.outcome, attacked.reading.basis) != (honest.reading.outcome, honest.reading.basis):
        assert set(attacked.messages) - known, "only a mail in the thread may change what is counted"
        assert attacked.reading.basis is not type(honest.reading.basis).RULED


@pytest.mark.parametrize(
    "attack", [one for one in ATTACKS if one.flag == "conflicting_copies"], ids=lambda attack: attack.name
)
def test_a_conflicting_copy_leaves_the_reading_as_it_is(attack: Attack) -> None:
    before, after = of_call(record(None).threads("list")), of_call(record(attack).threads("list"))
    assert after.reading == before.reading
    assert after.flags == {"conflicting_copies": after.flags["conflicting_copies"]}


def test_without_an_authserv_id_no_sender_is_marked() -> None:
    made = InMemoryRecord({"list": SourceProfile(Preset.IETF)})
    made.take_in("list", HONEST)
    made.take_in("list", forged("n6", SUPPORTS, more=FAILS))
    assert "unauthenticated_senders" not in of_call(made.threads("list")).flags


def test_only_the_first_results_of_the_named_server_count() -> None:
    passes = "Authentication-Results: mx.list.example; dmarc=pass\n"
    own = "Authentication-Results: elsewhere.example; dmarc=pass\n"
    made = InMemoryRecord(PROFILES)
    made.take_in("list", HONEST)
    made.take_in("list", forged("f1", SUPPORTS, more=f"{own}{FAILS}\n{passes}".strip()))
    made.take_in("list", forged("f2", SUPPORTS, more=f"{passes}{FAILS}", hour=31))
    assert of_call(made.threads("list")).flags["unauthenticated_senders"] == 1


def test_twenty_plus_addresses_are_one_voice() -> None:
    (attack,) = [one for one in ATTACKS if one.name == "twenty plus-addresses"]
    positions = of_call(record(attack).threads("list")).reading.positions
    assert sum(one.stance is PositionStance.SUPPORT for one in positions) == 1
