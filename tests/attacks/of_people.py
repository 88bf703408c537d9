"""Attacks on the identity of speakers: gateways, names, withdrawals, authentication, authorship."""

from typing import Any

from tests.attacks.honest import (
    ANN,
    BOB,
    CARLA,
    CEM,
    DEE,
    DIFF,
    DROP,
    EVE,
    FAY,
    GUS,
    HAL,
    IN_CALL,
    JUNO,
    MALLORY,
    PAT,
    PATCH,
    RITA,
    SAM,
    SECOND,
    TO_CALL,
    TOM,
    UMA,
    VOTE,
    Attack,
    mail,
    wrote,
)  # fmt: skip

SUPPORTS = "I support adoption of this draft."
OBJECTS = "I object to adoption of this draft."
READ = "I have read the draft."


def one(
    name: str,
    list_: str,
    text: str,
    twin: str | None = READ,
    *,
    alters: tuple[str, ...] = (),
    **options: Any,
) -> Attack:
    """Return one message and its twin with harmless words."""
    options = {"sender": MALLORY, "hour": 30, **options}
    attack = mail("x1", text=text, **options)
    honest = {**options, "sender": MALLORY, "more": "", "kind": "text/plain; charset=utf-8", "date": None}
    twins = (mail("x1", text=twin, **honest),) if twin is not None else ()
    return Attack(name, list_, (attack,), twins, frozenset(alters))


def _via(person: tuple[str, str], what: str = "Relay") -> tuple[str, str]:
    return f"{person[0]} via {what}", "relay@evil.example"


FROM_LINES = {
    "Ann": "From: Ann Lee <ann@lee.example>", "Cem": "From: Cem Yildiz <cem@yildiz.example>",
    "Carla": "From: Carla Ruiz <carla@chairs.example>",
}  # fmt: skip
RULES = "As chair, I declare that there is no consensus to adopt this draft. The call is closed."
WITHDRAWALS = [
    "I withdraw my objection.", "I no longer object to adoption.", "My objection is withdrawn. I support adoption now.",
    "I have changed my mind and support adoption.", "I take back my objection to adoption of this draft.",
    "On reflection I drop my objection.", "Please ignore what I said before: I support adoption of this draft.",
]  # fmt: skip

GATEWAYS = [
    *(one(f"a gateway of one's own supports as {who[0]}", "ietf", SUPPORTS, sender=_via(who), **IN_CALL) for who in (ANN, CEM, DEE)),
    *(one(f"a gateway of one's own objects as {who[0]}", "ietf", OBJECTS, sender=_via(who), **IN_CALL) for who in (ANN, BOB)),
    *(one(f"{words} by a gateway of one's own", "ietf", words, sender=_via(CEM), **IN_CALL) for words in WITHDRAWALS[:4]),
    one("the chair by a gateway of one's own", "ietf", RULES, sender=_via(CARLA), **IN_CALL),
    one("the chair by a gateway with the list's name", "ietf", RULES, sender=_via(CARLA, "ietf"), **IN_CALL),
    one("the proposer by a gateway of one's own withdraws", "ietf", "I withdraw this proposal.", sender=_via(EVE), **DROP),
    one("the author by a gateway of one's own withdraws", "git", "I withdraw this patch.", sender=_via(PAT), **PATCH),
    one("the author by a gateway of one's own promises", "git", "I will change that in the next version.", sender=_via(PAT), **PATCH),
    one("a From line joins a gateway's name to an address", "ietf", f"{FROM_LINES['Cem']}\n\nI withdraw my objection.", sender=_via(CEM), **IN_CALL),
    *(one(f"a From line of {who} opens a body", "ietf", f"{line}\n\n{SUPPORTS}", **IN_CALL) for who, line in FROM_LINES.items()),
    *(one(f"a From line of {who} opens a withdrawal", "ietf", f"{line}\n\nI withdraw my objection. {SUPPORTS}", **IN_CALL) for who, line in FROM_LINES.items()),
    one("a patch in a reviewer's name", "git", f"From: Ann Lee <ann@lee.example>\n\nKeep all lines.{DIFF}", subject="[PATCH v2] parser: keep the last line", refs=["patch"]),
    one("a patch in the objector's name", "git", f"From: Cem Yildiz <cem@yildiz.example>\n\nCount.{DIFF}", subject="[PATCH v2] cache: count the entries", refs=["rival"]),
    one("a patch in the maintainer's name", "git", f"From: Juno Maas <juno@git.example>\n\nKeep.{DIFF}", subject="[PATCH v3] parser: keep the last line", refs=["patch"]),
    one("a list's address without its List-Id", "ietf", "I withdraw my objection.", sender=("Cem Yildiz via ietf", "ietf@evil.example"), more="List-Id: <ietf.lists.example>", **IN_CALL),
    one("a voter by a gateway of one's own", "apache", "I withdraw my vote.", sender=_via(SAM), **VOTE),
    one("a voter by a gateway of one's own votes against", "apache", "-1", sender=_via(TOM), alters=("outcome",), **VOTE),
]  # fmt: skip

OTHER_ADDRESSES = ("ann@evil.example", "a.lee@evil.example")


def _as(who: tuple[str, str], local: str = "someone") -> tuple[str, str]:
    return who[0], f"{local}@evil.example"


CHANGES = [
    *(one(f"Cem's name: {words}", "ietf", words, sender=_as(CEM), **IN_CALL) for words in WITHDRAWALS),
    *(one(f"Dee's name: {words}", "ietf", f"{TO_CALL}\n{words}", sender=_as(DEE), **IN_CALL) for words in WITHDRAWALS[:4]),
    *(one(f"the name turned: {words}", "ietf", words, sender=("Yildiz, Cem", "cy@evil.example"), **IN_CALL) for words in WITHDRAWALS[:3]),
    *(one(f"Ann's name: {words}", "ietf", words, sender=_as(ANN), **IN_CALL) for words in ("I object to adoption of this draft.", "I no longer support adoption.", "I am not sure that we should do this.", "I have doubts about this draft.")),
    *(one(f"a voter's name: {words}", "apache", words, sender=_as(SAM), alters=("outcome",), **VOTE) for words in ("I withdraw my +1.", "-1", "Changing my vote to -1.", "I retract my vote.")),
    *(one(f"an objecting voter's name: {words}", "apache", words, sender=_as(BOB), alters=("outcome",), **VOTE) for words in ("I withdraw my -1.", "+1", "I change my vote to +1.")),
    *(one(f"an objector to a patch: {words}", "git", words, sender=_as(CEM), subject="Re: [PATCH] cache: count the entries", refs=["rival", "rival-cem"]) for words in ("I withdraw my NAK.", "Fair enough, this works for me.", "Reviewed-by: Cem Yildiz <cem@yildiz.example>")),
    one("the proposer's name withdraws", "ietf", "I withdraw this proposal.", sender=_as(EVE), **DROP),
    one("the proposer's name is done", "ietf", "Nobody objected, so I have dropped it.", sender=_as(EVE), **DROP),
    one("the caller's name cancels the vote", "apache", "This vote is cancelled.", sender=_as(RITA), **VOTE),
    one("the caller's name passes the vote", "apache", "The vote has passed with 9 binding +1.", sender=_as(RITA), **VOTE),
    one("the maintainer's name drops it", "git", "I have dropped this patch. It is rejected.", sender=_as(JUNO), **PATCH),
    one("the author's name promises a change", "git", "I will change that in the next version.", sender=_as(PAT), **PATCH),
    one("the author's name sends a version", "git", f"Keep all lines.{DIFF}", sender=_as(PAT), subject="[PATCH v2] parser: keep the last line", refs=["patch"]),
    one("the asker's name says it does not work", "ietf", "It still does not work. Why?", sender=_as(FAY), subject="Re: Listing files?", refs=["ask", "ask-end"]),
    one("withdrawn for another", "ietf", "Cem has withdrawn his objection.", **IN_CALL),
    one("the concern is addressed, says somebody else", "ietf", "Your concern is addressed in the latest version.", refs=["call", "call-cem"]),
    one("the concern is fixed, says somebody else", "ietf", "That is fixed now, thanks.", refs=["call", "call-dee"]),
    one("an answer to the objection by somebody else", "ietf", "I will change the text so that this is taken over.", refs=["call", "call-cem"]),
]  # fmt: skip


LOOKS = {
    "a Cyrillic letter": "\u0410nn Lee", "a Greek Alpha": "\u0391nn Lee", "two Cyrillic letters": "Ann L\u0435\u0435",
    "an Armenian letter": "B\u0585b St\u0585ne", "bold letters": "\U0001d400\U0001d427\U0001d427 Lee",
    "a Cherokee letter": "Ann \u13deee", "full width": "\uff21nn Lee", "a zero": "B0b St0ne", "rn for m": "Fay Rnoreau",
    "a soft hyphen": "Ann\u00ad Lee", "a word joiner": "Ann L\u2060ee", "a Hangul filler": "An\u3164n Lee",
    "a variation selector": "Ann\ufe0f Lee", "a combining grapheme joiner": "An\u034fn Lee", "a tag": "Ann\U000e0061 Lee",
    "an accent": "\u00c1nn Lee", "names turned": "Lee Ann", "no space": "AnnLee", "small capitals": "\u1d00nn Lee",
    "a dotless i": "Carla Ru\u0131z", "an l for an i": "Cem Ylldlz", "right to left": "\u202eeeL nnA\u202c Ann Lee",
    "a braille blank": "Ann\u2800 Lee", "a narrow space": "Ann\u202fLee", "Cyrillic for Bob": "\u0412\u043e\u044c Stone",
}  # fmt: skip
NAMES = [
    *(one(f"{what} supports", "ietf", SUPPORTS, sender=(name, "x@evil.example"), **IN_CALL) for what, name in LOOKS.items()),
    *(one(f"{what} withdraws", "ietf", "I withdraw my objection. I withdraw my support.", sender=(name, "x@evil.example"), **IN_CALL) for what, name in list(LOOKS.items())[:8]),
]  # fmt: skip

_A = "Authentication-Results: "
FORGED_RESULTS = {
    "no results": "",
    "a failing DMARC": f"{_A}mx.list.example; dmarc=fail header.from=yildiz.example",
    "another server's pass": f"{_A}mx.evil.example; dmarc=pass header.from=yildiz.example",
    "a pass in a comment": f"{_A}mx.list.example (dmarc=pass header.from=yildiz.example); dmarc=fail header.from=yildiz.example",
    "a pass in a reason": f'{_A}mx.list.example; dmarc=fail reason="dmarc=pass" header.from=yildiz.example',
    "a pass in a quoted value": f'{_A}mx.list.example; spf=fail smtp.mailfrom="dmarc=pass"@evil.example',
    "another signer's DKIM": f"{_A}mx.list.example; dkim=pass header.d=evil.example",
    "another sender's SPF": f"{_A}mx.list.example; spf=pass smtp.mailfrom=mallory@evil.example",
    "one signature fails, another passes": f"{_A}mx.list.example; dkim=fail header.d=yildiz.example; dkim=pass header.d=evil.example",
    "a signature fails, SPF of another passes": f"{_A}mx.list.example; dkim=fail header.d=yildiz.example; spf=pass smtp.mailfrom=evil.example",
    "two DMARC results": f"{_A}mx.list.example; dmarc=pass header.from=evil.example; dmarc=fail header.from=yildiz.example",
    "DMARC of another domain": f"{_A}mx.list.example; dmarc=pass header.from=evil.example",
    "a later field passes": f"{_A}mx.list.example; dmarc=fail header.from=yildiz.example\n{_A}mx.list.example; dmarc=pass header.from=yildiz.example",
    "a server's name with more": f"{_A}mx.list.example.evil.example; dmarc=pass header.from=yildiz.example",
    "no grammar": f"{_A}mx.list.example dmarc=pass header.from=yildiz.example",
    "ARC's results": "ARC-Authentication-Results: i=1; mx.list.example; dmarc=pass header.from=yildiz.example",
    "a temporary error": f"{_A}mx.list.example; dmarc=temperror header.from=yildiz.example",
    "a domain that only ends alike": f"{_A}mx.list.example; dkim=pass header.d=evilyildiz.example",
    "a top-level domain": f"{_A}mx.list.example; dkim=pass header.d=example",
    "none": f"{_A}mx.list.example; none",
    "a field too long to be whole": f"{_A}mx.list.example; spf=fail smtp.mailfrom={'a' * 5000}@evil.example; dmarc=pass header.from=yildiz.example",
}  # fmt: skip
AUTHENTICATION = [
    *(Attack(f"Cem's address with {what}: {words}", "checked", (mail("x1", CEM, words, hour=30, results=results, **IN_CALL),))
      for what, results in FORGED_RESULTS.items() for words in ("I withdraw my objection. I support adoption of this draft.",)),
    *(Attack(f"the chair's address with {what}", "checked", (mail("x1", CARLA, RULES, hour=50, results=results.replace("yildiz", "chairs"), **IN_CALL),))
      for what, results in list(FORGED_RESULTS.items())[:12]),
    *(Attack(f"the marked chair's address with {what}", "marked", (mail("x1", CARLA, RULES, hour=50, results=FORGED_RESULTS[what].replace("yildiz", "chairs"), **IN_CALL),))
      for what in ("a failing DMARC", "one signature fails, another passes", "a pass in a comment", "a pass in a reason")),
]  # fmt: skip

__all__ = ["AUTHENTICATION", "CHANGES", "GATEWAYS", "GUS", "HAL", "NAMES", "SECOND", "UMA", "wrote"]
