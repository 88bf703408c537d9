"""Attacks by header fields: ids, references, senders, subjects and dates that no honest mailer writes."""

from typing import Any

from tests.attacks.honest import (
    CEM,
    DIFF,
    IN_CALL,
    MALLORY,
    ORPHANS,
    PATCH,
    SECOND,
    VOTE,
    Attack,
    mail,
)  # fmt: skip
from tests.attacks.of_people import READ


def sent(text: str = READ, id_: str = "x1", **options: Any) -> bytes:
    return mail(id_, text=text, **{"sender": MALLORY, "hour": 30, **options})


def both(
    name: str, list_: str, *, alters: tuple[str, ...] = (), twin: dict[str, Any], **options: Any
) -> Attack:
    """Return one message and its twin with other options."""
    return Attack(name, list_, (sent(**options),), (sent(**{**options, **twin}),), frozenset(alters))


ODD_REFERENCES = {
    "two References fields": "References: <ask>\nReferences: <call>",
    "two In-Reply-To fields": "In-Reply-To: <ask>\nIn-Reply-To: <call>",
    "an encoded id": "References: =?utf-8?Q?=3Ccall-cem=3E?= <call>",
    "ids in comments": "References: <call> (<call-cem> <ask>)",
    "an id in a quoted string": 'References: <call> "<call-cem>"',
    "prose": "In-Reply-To: Your message of Monday <call> and <call-cem> and <ask>",
    "no brackets": "References: call-cem call",
    "half a bracket": "References: <call-cem <call>",
    "a folded id": "References: <call-\n cem> <call>",
    "a tab and a NUL": "References: <call-cem\x00>\t<call>",
    "a megabyte": "References: " + "\n ".join(f"<nothing-{n}@evil.example>" for n in range(4000)) + "\n <call>",
    "another thread's missing mail": "References: <missing> <call>\nIn-Reply-To: <missing>",
    "a missing mail below the call": "References: <call> <missing>\nIn-Reply-To: <missing>",
    "the missing mail and every root": "References: <missing> <call> <drop> <ask> <ruled>\nIn-Reply-To: <ask>",
}  # fmt: skip
REFERENCES = [
    *(both(f"references as {what}", "ietf", more=fields, twin={"more": "References: <call>"}) for what, fields in ODD_REFERENCES.items()),
    Attack("two strangers who bridge over a mail that nobody has", "ietf", (sent(refs=["call", "bridge"]), sent(id_="x2", refs=["drop", "bridge"], sender=SECOND)), (sent(refs=["call"]), sent(id_="x2", refs=["drop"], sender=SECOND))),
    Attack("a bridge that is then supplied", "ietf", (sent(refs=["call", "bridge"]), sent(id_="bridge", refs=["drop"]), sent(id_="x3", refs=["ask", "bridge"])), (sent(refs=["call"]), sent(id_="bridge", refs=["drop"]), sent(id_="x3", refs=["ask"]))),
]  # fmt: skip

NAMES_OTHERS = {
    "a question": "ask",
    "a call": "call",
    "an answer in a call": "call-cem",
    "a proposal": "drop",
    "a ruled call": "ruled-end",
}
TEXT_OF_ALL = "Should we rename the tool to avoid the clash with the other one?"
CARRIED = [
    *(Attack(f"the missing first mail answers {what}, with {which}", "ietf", (sent(text, "missing", subject=subject, refs=[ref], hour=13.5),), (sent(hour=13.5, refs=[ref], subject="Hello there"),))
      for what, ref in NAMES_OTHERS.items()
      for which, subject, text in (("the same subject", "Re: Rename the tool", TEXT_OF_ALL), ("another subject", "Re: Listing files?", READ))),
    Attack("the missing first mail names many", "ietf", (sent(TEXT_OF_ALL, "missing", subject="Rename the tool", refs=["call", "drop", "ruled", "ask"], hour=13.5),), (sent(hour=13.5, refs=["ask"]),)),
    Attack("the missing first mail answers an own mail", "ietf", (sent("Let us talk about renaming.", "x0", subject="Talk", hour=13), sent(TEXT_OF_ALL, "missing", subject="Rename the tool", refs=["x0"], hour=13.5)), (sent(id_="x0", subject="Talk", hour=13), sent(id_="x1", subject="Hello there", refs=["x0"], hour=13.5)), frozenset({"beginning"})),
    Attack("the missing first mail has the words of an answer, unsigned", "ietf", (sent("I object to renaming the tool. It is known by its name.", "missing", subject="Rename the tool", hour=13.5),), (sent(hour=13.5, subject="Hello there"),), frozenset({"beginning"})),
]  # fmt: skip

SENDERS = {
    "two addresses, another's first": f"From: {CEM[0]} <{CEM[1]}>, Mallory <mallory@evil.example>",
    "two addresses, another's last": f"From: Mallory <mallory@evil.example>, {CEM[0]} <{CEM[1]}>",
    "a group": f"From: Friends: {CEM[0]} <{CEM[1]}>, Mallory <mallory@evil.example>;",
    "a group in a name": f'From: "Friends: {CEM[0]} <{CEM[1]}>;" <mallory@evil.example>',
    "an address in an encoded name": "From: =?utf-8?Q?Cem_Yildiz_=3Ccem=40yildiz=2Eexample=3E?= <mallory@evil.example>",
    "an encoded line end in the name": "From: =?utf-8?Q?Cem=0AFrom:_Cem_Yildiz_=3Ccem=40yildiz=2Eexample=3E?= <mallory@evil.example>",
    "a quoted address as local part": 'From: "cem@yildiz.example"@evil.example',
    "two ats": "From: Cem Yildiz <cem@yildiz.example@evil.example>",
    "a route": "From: Cem Yildiz <@evil.example:mallory@evil.example>",
    "a comment in the address": "From: Cem Yildiz <mallory(cem@yildiz.example)@evil.example>",
    "an old form": "From: mallory@evil.example (Cem Yildiz <cem@yildiz.example>)",
    "a percent hack": "From: Cem Yildiz <cem%yildiz.example@evil.example>",
    "two brackets": "From: Cem Yildiz <cem@yildiz.example> <mallory@evil.example>",
    "brackets in quotes": 'From: "Cem Yildiz <cem@yildiz.example>" <mallory@evil.example>',
    "an address of no width": "From: Cem Yildiz <cem@yildiz\u200b.example>",
    "a full stop at the end": "From: Cem Yildiz <cem@yildiz.example.>",
    "a full-width at": "From: Cem Yildiz <cem\uff20yildiz.example>",
    "a NUL": "From: Cem Yildiz <cem@yildiz.example\x00.evil.example>",
    "punycode": "From: Cem Yildiz <cem@xn--yildz-q4a.example>",
    "no address": "From: cem@yildiz.example via nowhere <>",
    "a folded address": "From: Cem Yildiz\n <cem@yildiz.example>,\n Mallory <mallory@evil.example>",
}  # fmt: skip
_PASSES = "Authentication-Results: mx.list.example; dmarc=pass header.from=evil.example"
WITHDRAWS = "I withdraw my objection. I support adoption of this draft."


def with_from(field: str, text: str, more: str = "", **options: Any) -> bytes:
    """Build a message with a From field that mailers do not write."""
    made = sent(text, more=more, results=_PASSES, **{**IN_CALL, **options})
    return made.replace(b"From: Mallory Vane <mallory@evil.example>", field.encode(), 1)


FIELDS = {
    "Sender and X-Original-From": "Sender: cem@yildiz.example\nX-Original-From: Cem Yildiz <cem@yildiz.example>",
    "Resent fields": "Resent-From: Cem Yildiz <cem@yildiz.example>\nResent-Message-ID: <call-cem>\nResent-Date: Mon, 05 Jan 2026 13:00:00 +0000",
    "Reply-To": "Reply-To: Cem Yildiz <cem@yildiz.example>",
    "List-Id and List-Post": "List-Id: <ietf.lists.example>\nList-Post: <mailto:ietf@lists.example>",
    "another gateway": "X-Mailman-Original-From: Cem Yildiz <cem@yildiz.example>\nX-Google-Original-From: Cem Yildiz <cem@yildiz.example>",
    "Supersedes": "Supersedes: <call-cem>", "a cancellation": "Control: cancel <call-cem>\nSubject: cmsg cancel <call-cem>", "Obsoletes and Replaces": "Obsoletes: <call-cem>\nReplaces: <call-cem>\nExpires: Mon, 05 Jan 2026 14:00:00 +0000",
    "a second Message-ID": "Message-ID: <call-cem>", "an original Message-ID": "X-Message-ID: <call-cem>\nOriginal-Message-ID: <call-cem>\nX-Original-Message-ID: <call-cem>",
    "a second Date": "Date: Mon, 05 Jan 2026 10:00:01 +0000", "a second Subject": "Subject: [RESULT] Call for adoption: draft-foo-bar", "a second Content-Type": 'Content-Type: multipart/digest; boundary="b"',
    "Auto-Submitted": "Auto-Submitted: auto-replied\nPrecedence: bulk\nX-Loop: ietf@lists.example", "Importance": "Importance: high\nX-Priority: 1\nKeywords: adopted, closed",
}  # fmt: skip
FIELDS_OF_MAIL = [
    *(Attack(f"From as {what}", "checked", (with_from(field, WITHDRAWS),), (sent(**IN_CALL),)) for what, field in SENDERS.items()),
    *(Attack(f"From as {what}, unchecked", "ietf", (with_from(field, WITHDRAWS),), (sent(**IN_CALL),)) for what, field in SENDERS.items() if not what.startswith(("two addresses, another's first", "a folded", "a group", "a full stop", "no address"))),
    *(both(f"the field {what}", list_, text=WITHDRAWS, more=fields, twin={"text": READ, "more": ""}, **IN_CALL) for what, fields in FIELDS.items() for list_ in ("ietf",)),
]  # fmt: skip

SUBJECTS = [
    *(Attack(f"{count} answers with another subject in {where}", list_, tuple(sent(READ, f"x{n}", sender=(f"Vane {n}", f"v{n}@evil.example"), subject=subject, refs=refs, hour=30 + n) for n in range(count)), tuple(sent(READ, f"x{n}", sender=(f"Vane {n}", f"v{n}@evil.example"), refs=refs, subject=own, hour=30 + n) for n in range(count)))
      for where, list_, refs, own, subject in (("a call", "ietf", ["call"], IN_CALL.get("subject", "Re: Call for adoption: draft-foo-bar"), "Re: The draft is rejected"), ("a patch", "git", ["patch"], PATCH["subject"], "Re: [PATCH] parser: broken"), ("a vote", "apache", ["vote"], VOTE["subject"], "Re: [CANCELLED] [VOTE] Release Example 1.2"), ("an orphan's thread", "ietf", ["missing"], ORPHANS["subject"], "Re: The tool is dead"))
      for count in (3, 12)),
    *(both(f"an answer with the subject {subject!r}", list_, text=READ, subject=subject, refs=refs, twin={"subject": "Re: Something"})
      for subject, list_, refs in (
          ("[RESULT] Call for adoption: draft-foo-bar", "ietf", ["call"]), ("Closed: Re: Call for adoption: draft-foo-bar", "ietf", ["call"]), ("Withdrawn: Re: Call for adoption: draft-foo-bar", "ietf", ["call", "call-cem"]),
          ("Re: [CANCELLED] [VOTE] Release Example 1.2", "apache", ["vote"]), ("[RESULT] Re: [VOTE] Release Example 1.2 passed", "apache", ["vote"]), ("[VOTE] [TAKE 2] Release Example 1.2", "apache", ["vote"]),
          ("[PATCH v9 0/3] parser: keep the last line (withdrawn)", "git", ["patch"]), ("[REJECTED] [PATCH] parser: keep the last line", "git", ["patch"]), ("Re: \u202edraft foo", "ietf", ["call"]), ("R\u200be: Call for adoption: draft-foo-bar", "ietf", ["call"]),
          ("Re: Drop the old archive format [SOLVED] [REJECTED]", "ietf", ["drop"]), ("Listing files? [SOLVED]", "ietf", ["ask"]), ("WITHDRAWN: Drop the old archive format (was: Call)", "ietf", ["drop"]))),
    *(Attack(f"a mail of the missing first mail's subject, {hours} hours {where}", "ietf", (sent(text, "x1", subject="Rename the tool", hour=14 + hours),), (sent(text, "x1", subject="A very different thing", hour=14 + hours),), frozenset({"beginning"}))
      for hours, where in ((-0.5, "before"), (-300, "before"), (0.5, "between")) for text in ("I propose to delete the tool. Please say whether you support it.",)),
    Attack("a mail of the proposal's subject before it", "lossy", (sent("I propose to keep it all.", "x1", subject="Drop the old archive format", hour=4.5),), (sent("I propose to keep it all.", "x1", subject="A very different thing", hour=4.5),)),
    Attack("a later version of a patch without references", "git", (sent(f"Drop it.{DIFF}", "x1", subject="[PATCH v2] parser: keep the last line"),), (sent(f"Drop it.{DIFF}", "x1", subject="[PATCH] other: drop it"),)),
    Attack("an earlier version of a patch without references", "git", (sent(f"Drop it.{DIFF}", "x1", subject="[PATCH] parser: keep the last line", hour=-1),), (sent(f"Drop it.{DIFF}", "x1", subject="[PATCH] other: drop it", hour=-1),)),
    Attack("a cover of another's patch", "git", (sent("All of it.", "x1", subject="[PATCH 0/1] parser: keep the last line", hour=-0.1),), (sent("All of it.", "x1", subject="Other things", hour=-0.1),)),
    Attack("a result of another's vote in a thread of its own", "apache", (sent("The vote has failed with three -1.", "x1", subject="[RESULT] [VOTE] Release Example 1.1", hour=95),), (sent(READ, "x1", subject="Other things", hour=95),)),
    Attack("a vote of another's subject", "apache", (sent("Please vote.\n\n[ ] +1 no release\n[ ] -1 release", "x1", subject="[VOTE] Release Example 1.2", hour=-1),), (sent(READ, "x1", subject="Other things", hour=-1),)),
]  # fmt: skip

FAR = "%a, %d %b %Y %H:%M:%S +0000"
NEAR_DATES = {
    "a month after all": "Fri, 06 Feb 2026 10:00:00 +0000", "three years after": "Fri, 05 Jan 2029 10:00:00 +0000", "2036": "Sat, 05 Jan 2036 10:00:00 +0000",
    "nine years before": "Thu, 05 Jan 2017 10:00:00 +0000", "1976": "Mon, 05 Jan 1976 10:00:00 +0000", "a second after the call": "Mon, 05 Jan 2026 10:00:01 +0000", "the call's own second": "Mon, 05 Jan 2026 10:00:00 +0000",
    "another zone": "Mon, 05 Jan 2026 22:00:00 +1200", "two dates": "Mon, 05 Jan 2026 10:00:00 +0000\nDate: Mon, 05 Jan 2037 10:00:00 +0000", "two digits": "Mon, 05 Jan 36 10:00:00 +0000",
}  # fmt: skip
TIMES = [
    *(both(f"an answer of {what} in {where}", list_, text=READ, date=date, twin={"date": None}, alters=("beginning",) if place is ORPHANS else (), **place)
      for what, date in NEAR_DATES.items() for where, list_, place in (("a call", "ietf", IN_CALL), ("a vote", "apache", VOTE), ("an orphan's thread", "ietf", ORPHANS))),
    *(both(f"a new thread of {what}", "ietf", text=READ, subject="Hello there", date=date, twin={"date": None}) for what, date in list(NEAR_DATES.items())[:5]),
    *(both(f"a Received field of {what}", "ietf", text=READ, date=date, more=f"Received: by mx.list.example; {date}", twin={"date": None, "more": ""}, **IN_CALL) for what, date in list(NEAR_DATES.items())[:5]),
]  # fmt: skip

NEW = {
    "references": REFERENCES,
    "supplied mails that name others": CARRIED,
    "fields": FIELDS_OF_MAIL,
    "subjects": SUBJECTS,
    "times": TIMES,
}
