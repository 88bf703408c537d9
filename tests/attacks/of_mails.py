"""Attacks by content and position: quotes, ancestors, archives, dates, HTML, genre, dilution."""

from typing import Any

from tests.attacks.honest import (
    ANN,
    BOB,
    CALL,
    CARLA,
    CEM,
    DEE,
    DIFF,
    DROP,
    EVE,
    HAL,
    IN_CALL,
    JUNO,
    MALLORY,
    ORPHANS,
    PATCH,
    RITA,
    SECOND,
    START,
    TO_CALL,
    TO_MISSING,
    VOTE,
    Attack,
    mail,
    wrote,
)  # fmt: skip
from tests.attacks.of_people import OBJECTS, READ, RULES, SUPPORTS, one

HTML = "text/html; charset=utf-8"
ANNS = "I support adoption of this draft."
CEMS = "I object to adoption of this draft. It breaks deployments."

QUOTES = [
    *(one(f"{who}'s words at {hour} hours", "ietf", words, hour=hour, alters=("outcome",), **IN_CALL)
      for who, words in (("Ann", ANNS), ("Cem", CEMS)) for hour in (0.5, -900, 20)),
    *(one(f"{who}'s words in a mail of its own at {hour} hours", "ietf", f"They said:\n\n{words}", subject="Collected words", hour=hour, twin=READ)
      for who, words in (("Ann", ANNS), ("Cem", CEMS)) for hour in (-900, 0.5)),
    one("Ann's words as an answer to hers", "ietf", ANNS, refs=["call", "call-ann"], alters=("outcome",)),
    one("Cem's words as an answer to the call, before him", "ietf", f"{CEMS} {ANNS}", hour=0.1, **IN_CALL),
    one("all words of all, early", "ietf", f"{ANNS} {CEMS} I do not support adoption: the security section is missing.", hour=0.2, **IN_CALL),
    one("the proposal's words, before it", "ietf", "I propose to drop the old archive format. Nobody has used it for years, and it costs us tests.", subject="Drop the old archive format", hour=-10),
    one("the ruling's words, before it", "ietf", "The call is closed.", subject="Re: Adoption of draft-old-one", refs=["ruled"], hour=9.5),
    one("an invented quote of Ann", "ietf", wrote(ANN, "I object to adoption of this draft.") + "\nI agree.", refs=["call", "call-ann"], alters=("outcome",)),
    one("an invented quote of the chair", "ietf", wrote(CARLA, "The draft is adopted.") + "\nGood.", **IN_CALL),
    one("an unmarked quote of the chair", "ietf", f"Carla Ruiz wrote:\n\n{RULES}", **IN_CALL),
    one("a voter's words, before them", "apache", "+1 (binding)", hour=0.5, alters=("outcome",), **VOTE),
    one("a review's words, before it", "git", "This looks good to me.", hour=0.5, alters=("outcome",), **PATCH),
]  # fmt: skip

SUPPLIED_TEXTS = {
    "another proposal": ("Adopt the new license", "I propose to adopt the new license. Please say whether you support it or object to it."),
    "a call": ("Call for adoption: draft-evil", "This is a call for adoption of draft-evil. Please state your support or objection."),
    "a vote": ("[VOTE] Buy the house", "Please vote.\n\n[ ] +1 buy it\n[ ] -1 do not buy it"),
    "a patch": ("[PATCH] evil: add it", f"Add it.\n\nSigned-off-by: Mallory Vane <mallory@evil.example>{DIFF}"),
    "a question": ("How to?", "How do I list files? I cannot find the option."),
    "an announcement": ("[ANNOUNCE] Release 9", "We are pleased to announce release 9 of the tool."),
    "a result": ("[RESULT] [VOTE] Release Example 1.2", "The vote has passed with nine +1."),
    "German words": ("Umbenennung", "Sollen wir das Werkzeug nicht umbenennen, damit es sich von dem anderen unterscheidet und wir es finden?"),
    "the same subject": ("Rename the tool", "Should we delete the tool for good? I propose to delete it and never to speak of it."),
    "nothing": ("Rename the tool", ""),
}  # fmt: skip
BEGINNING = frozenset({"beginning"})
"""A thread without its first message begins with the earliest date that its messages claim: see the limits."""
SUPPLIED = [
    *(Attack(f"the missing first mail as {what}, {when}", "ietf", (mail("missing", MALLORY, text, subject=subject, hour=hour),), (mail("x1", MALLORY, READ, subject="Hello there", hour=hour),), BEGINNING)
      for what, (subject, text) in SUPPLIED_TEXTS.items() for when, hour in (("before its answers", 13.5), ("after them", 60), ("years before", -40_000))),
    *(Attack(f"the missing first mail and an answer to it as {what}", "ietf", (mail("missing", MALLORY, text, subject=subject, hour=13.5), mail("x2", SECOND, f"{wrote(MALLORY, text.splitlines()[0])}\nI agree.", subject=f"Re: {subject}", refs=["missing"], hour=13.7)), (), BEGINNING)
      for what, (subject, text) in list(SUPPLIED_TEXTS.items())[:4]),
]  # fmt: skip

DATES = {
    "year 0": "Mon, 05 Jan 0000 10:00:00 +0000", "year 1": "Mon, 05 Jan 0001 10:00:00 +0000",
    "1900": "Mon, 05 Jan 1900 10:00:00 +0000", "1969": "Mon, 05 Jan 1969 10:00:00 +0000",
    "the epoch": "Thu, 01 Jan 1970 00:00:00 +0000", "1971": "Tue, 05 Jan 1971 10:00:00 +0000", "1999": "Tue, 05 Jan 1999 10:00:00 +0000",
    "a year before": "Mon, 06 Jan 2025 10:00:00 +0000", "2027": "Tue, 05 Jan 2027 10:00:00 +0000", "2038": "Tue, 19 Jan 2038 03:14:08 +0000",
    "2099": "Mon, 05 Jan 2099 10:00:00 +0000", "9999": "Mon, 05 Jan 9999 10:00:00 +0000", "no date": "", "words": "some day",
    "a huge zone": "Mon, 05 Jan 2026 10:00:00 +9959",
}  # fmt: skip
BY_DATE = [
    *(one(f"an answer of {what}", "ietf", READ, subject="A better subject", date=date, **IN_CALL) for what, date in DATES.items()),
    *(one(f"an orphan's answer of {what}", "ietf", READ, subject="Re: Rename the tool", date=date, refs=["missing"], alters=("beginning",)) for what, date in list(DATES.items())[::3]),
    *(one(f"an answer to the proposal of {what}", "ietf", "Let's do something else instead.", subject="Something else", date=date, refs=["drop"]) for what, date in list(DATES.items())[::2]),
    *(one(f"an answer to the vote of {what}", "apache", READ, date=date, **VOTE) for what, date in list(DATES.items())[1::3]),
]  # fmt: skip

STYLES = [
    "display:none", "DISPLAY : NONE !important", "visibility:hidden", "opacity:0", "opacity:0.01", "font-size:0", "font-size:1px", "font-size:.1em",
    "font:0/0 a", "color:#fff", "color:white", "color:#fefefe", "color:rgb(255,255,255)", "color:rgba(0,0,0,0)", "color:transparent", "color:hsl(0,0%,100%)",
    "color:oklch(1 0 0)", "color:var(--c)", "-webkit-text-fill-color:transparent", "height:0;overflow:hidden", "max-height:0;overflow:hidden", "width:1px;overflow:clip",
    "position:absolute;left:-9999px", "position:fixed;top:-500em", "text-indent:-9999px", "margin-left:-9999px", "transform:scale(0)", "transform:translateX(-9999px)",
    "translate:-9999px", "scale:0", "rotate:x 90deg", "zoom:0.01", "clip-path:inset(50%)", "clip-path:circle(0)", "clip:rect(0,0,0,0)", "mask:linear-gradient(transparent,transparent)",
    "-webkit-mask-image:url(x)", "filter:opacity(0)", "filter:blur(40px)", "backdrop-filter:blur(9px)", "content-visibility:hidden", "mix-blend-mode:screen", "line-height:0", "letter-spacing:-1em",
    "word-spacing:-99px", "mso-hide:all", "background:black;color:#010101", "background-image:linear-gradient(#000,#000)", "display:n\\6fne", "dis/**/play:none", "font-size:0.001rem", "animation:a 1s",
    "text-indent:calc(-9999px)", "margin-top:-500vh", "font-size-adjust:0", "unicode-bidi:bidi-override;direction:rtl", "perspective:1px", "columns:1;column-width:0;zoom:0", "inset:-9999px", "shape-outside:none;opacity:0%",
]  # fmt: skip
HIDING_HTML = {
    "the hidden attribute": "<div hidden>{}</div>", "a rule": "<style>.x{{display:none}}</style><p class=x>{}</p>",
    "a rule for all screens": "<style>@media all{{.x{{opacity:0}}}}</style><p class=x>{}</p>", "a rule with a pseudo class": "<style>p:not(.y){{display:none}}</style><p>{}</p>",
    "a rule of color": "<style>.x{{color:#fff}}</style><p class=x>{}</p>", "a rule by attribute": "<style>[title]{{font-size:0}}</style><p title=a>{}</p>",
    "a template": "<template>{}</template>", "a dialog": "<dialog>{}</dialog>", "an object": "<object>{}</object>", "an iframe": "<iframe>{}</iframe>", "noscript": "<noscript>{}</noscript>",
    "a popover": "<div popover>{}</div>", "a white font": '<font color="#ffffff">{}</font>', "a ground of the same color": '<table bgcolor="#000000"><tr><td>{}</td></tr></table>',
    "a font of many ancestors": '<div style="font-size:.3em"><div style="font-size:.3em"><div>{}</div></div></div>', "an ancestor's style": '<div style="opacity:0"><p><b>{}</b></p></div>',
    "a nested rule": "<style>.x{{opacity:0; .y{{color:red}}}}</style><p class=x>{}</p>", "a comment": "<!-- {} -->", "a bdo": "<bdo dir=rtl>{}</bdo>",
}  # fmt: skip
HIDDEN = [
    *(one(f"hidden by {style}", "ietf", f'<p>{READ}</p><p style="{style}">{SUPPORTS} {OBJECTS}</p>', twin=READ, kind=HTML, **IN_CALL) for style in STYLES),
    *(one(f"hidden by {what}", "ietf", f"<p>{READ}</p>{html.format(f'{SUPPORTS} {OBJECTS}')}", twin=READ, kind=HTML, **IN_CALL) for what, html in HIDING_HTML.items()),
]  # fmt: skip

FROM = f"From ann@lee.example {START:%a %b %d %H:%M:%S %Y}\nFrom: Ann Lee <ann@lee.example>\nMessage-ID: <y1>\nSubject: Re: Call for adoption: draft-foo-bar\nIn-Reply-To: <call>\n\nI object to adoption of this draft."
SWALLOWED = b"".join([mail("call-late", DEE, "I still do not support adoption.", hour=40, **IN_CALL)])
ARCHIVES = [
    one("a From line inside a paragraph", "ietf", f"As somebody said:\n{FROM}", **IN_CALL),
    one("an escaped From line", "ietf", f"Look:\n\n>{FROM}", **IN_CALL),
    *(one(f"a declared length of {length}", "ietf", READ, more=f"Content-Length: {length}", **IN_CALL) for length in (0, 1, 5, 20, 50, 500, 99_999, 10**9)),
    one("a declared length, twice", "ietf", READ, more="Content-Length: 5\nContent-Length: 9999", **IN_CALL),
    one("a signature of git's in a paragraph", "ietf", "See\nFrom 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\nFrom: Ann Lee <ann@lee.example>\n\nI object to adoption.", **IN_CALL),
]  # fmt: skip

GERMAN = "Ich bin der Meinung, dass wir das nicht machen sollten, weil es die alten Programme bricht und niemand es braucht."
OTHER_WORDS = {
    "German": GERMAN, "French": "Je pense que nous ne devons pas faire cela, parce que les anciens programmes ne marchent pas avec ce projet.",
    "Spanish": "Creo que no debemos hacer esto, porque los programas viejos no funcionan con este proyecto y nadie lo necesita.",
    "Japanese": "これは良い考えではないと思います。古いプログラムが動かなくなるからです。", "Russian": "Я думаю, что нам не следует этого делать, потому что старые программы перестанут работать.",
}  # fmt: skip


def many(
    name: str,
    list_: str,
    text: str,
    count: int,
    *,
    alters: tuple[str, ...] = (),
    twin: str | None = READ,
    **options: Any,
) -> Attack:
    """Return a handful of messages of two people, and a twin with harmless words."""
    senders = (MALLORY, SECOND, ("Vic Vane", "vic@evil.example"))

    def mails(words: str) -> tuple[bytes, ...]:
        return tuple(
            mail(f"x{n}", senders[n % len(senders)], words, hour=30 + n, **options) for n in range(count)
        )

    return Attack(name, list_, mails(text), mails(twin) if twin else (), frozenset(alters))


GENRE = [
    *(one(f"one patch in {where}", list_, f"Here it is.{DIFF}", subject="[PATCH] do it otherwise", refs=refs)
      for where, list_, refs in (("a call", "ietf", ["call"]), ("a proposal", "ietf", ["drop"]), ("a question", "ietf", ["ask"]), ("a vote", "apache", ["vote"]), ("an orphan's thread", "ietf", ["missing"]))),
    *(one(f"an untagged patch in {where}", "ietf", f"How about this?{DIFF}", subject=subject, refs=refs)
      for where, subject, refs in (("a call", "Re: Call for adoption: draft-foo-bar", ["call"]), ("a question", "Re: Listing files?", ["ask"]), ("a proposal", "Re: Drop the old archive format", ["drop"]))),
    *(one(f"another call within {where}", "ietf", "This is a call for adoption of draft-evil. Please say whether you support it or object to it.", subject="Call for adoption: draft-evil", refs=refs, hour=hour)
      for where, refs, hour in (("a call", ["call"], 0.2), ("a proposal", ["drop"], 5.2), ("a question", ["ask"], 11.2), ("an orphan's thread", ["missing"], 13.8))),
    *(one(f"a vote within {where}", "ietf", "Please vote.\n\n[ ] +1 yes\n[ ] -1 no", subject="[VOTE] Something else", refs=refs)
      for where, refs in (("a call", ["call"]), ("a proposal", ["drop"]))),
    *(many(f"a handful of mails in {what} in {where}", "ietf", words, 7, refs=refs) for what, words in OTHER_WORDS.items() for where, refs in (("a call", ["call"]), ("a proposal", ["drop"]))),
    *(many(f"a handful of mails in {what} in a vote", "apache", words, 7, **VOTE) for what, words in list(OTHER_WORDS.items())[:2]),
    *(one(f"an outsider's result at {hour} hours: {words}", "apache", words, subject="[RESULT] [VOTE] Release Example 1.2", refs=refs, hour=hour)
      for words in ("The vote has passed with nine +1.", "The vote has failed.", "This vote is cancelled.") for refs, hour in ((["vote"], 80), ((), 85))),
    *(one(f"an outsider ends the {where}: {words}", list_, words, **place)
      for where, list_, place in (("call", "ietf", IN_CALL), ("patch", "git", PATCH), ("proposal", "ietf", DROP))
      for words in ("The call is closed. The draft is adopted.", "Rejected.", "There is no consensus.", "We have decided to drop it.")),
    one("a claimed role", "ietf", RULES, **IN_CALL),
    one("a claimed role in a signature", "ietf", "The draft is adopted.\n\nMallory Vane\nWG chair", **IN_CALL),
]  # fmt: skip

DILUTION = [
    *(many(f"{count} {what} mails in {where}", list_, text, count, twin=None, **place)
      for count in (1, 8)
      for what, text in (("empty", ""), ("silent", "Just reading along."), ("thankful", "Thanks, all."))
      for where, list_, place in (("a call", "ietf", IN_CALL), ("a proposal", "ietf", DROP), ("a patch", "git", PATCH), ("a vote", "apache", VOTE), ("a ruled call", "ietf", {"subject": "Re: Adoption of draft-old-one", "refs": ["ruled"]}))),
    *(one(f"a late counter-proposal in {where}", list_, "I propose that we do something else instead, for example a new format.", twin=None, hour=60, **place)
      for where, list_, place in (("a proposal", "ietf", DROP), ("a patch", "git", PATCH), ("a vote", "apache", VOTE), ("a ruled call", "ietf", {"subject": "Re: Adoption of draft-old-one", "refs": ["ruled"]}))),
    *(one(f"a late {what} in {where}", list_, text, twin=None, hour=70, **place)
      for what, text in (("question", "What about the old one?"), ("change of the subject", "By the way, who is at the meeting?"))
      for where, list_, place in (("a proposal", "ietf", DROP), ("a patch", "git", PATCH), ("a ruled call", "ietf", {"subject": "Re: Adoption of draft-old-one", "refs": ["ruled"]}))),
    *(one(f"an open call is written on after its end: {words}", "ietf", words, twin=None, hour=24 * 40, **IN_CALL) for words in ("Hello?", "I have read it.", "The call has ended.")),
    one("quotes in a list that lost them", "lossy", wrote(ANN, "I support this proposal.") + "\nI have read it.", twin=None, **DROP),
    one("doubts after a maintainer's word", "git", "I am worried that this may break something.", twin=None, hour=20, **PATCH),
    one("doubts after a chair's word", "ietf", "I am not convinced.", twin=None, hour=90, subject="Re: Adoption of draft-old-one", refs=["ruled"]),
]  # fmt: skip

__all__ = ["BOB", "CALL", "CEM", "EVE", "HAL", "JUNO", "ORPHANS", "RITA", "TO_CALL", "TO_MISSING"]
