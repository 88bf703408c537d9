"""Attacks by the form of a body: parts, charsets, encodings, quotes, tallies and forged trailers."""

import base64
import quopri
from typing import Any

from tests.attacks.honest import (
    ANN,
    CARLA,
    CEM,
    DIFF,
    DROP,
    IN_CALL,
    PATCH,
    SECOND,
    VOTE,
    Attack,
    wrote,
)  # fmt: skip
from tests.attacks.of_headers import WITHDRAWS, sent
from tests.attacks.of_mails import HTML
from tests.attacks.of_people import OBJECTS, READ, RULES, SUPPORTS, one

B = 'boundary="b"'


def parts(*bodies: tuple[str, str]) -> str:
    return "".join(f"--b\nContent-Type: {kind}\n\n{text}\n" for kind, text in bodies) + "--b--\n"


INNER = f"From: Cem Yildiz <cem@yildiz.example>\nMessage-ID: <call-cem>\nDate: Mon, 05 Jan 2026 14:00:00 +0000\nSubject: Re: Call for adoption: draft-foo-bar\nReferences: <call>\n\n{WITHDRAWS}"
CLAIM = "As chair, I declare that the draft is adopted."
KINDS: dict[str, tuple[str, str]] = {
    "an empty text beside HTML": (f"multipart/alternative; {B}", parts(("text/plain", ""), ("text/html", f"<p>{WITHDRAWS}</p>"))),
    "a blank text beside HTML": (f"multipart/alternative; {B}", parts(("text/plain", "\u00a0\u200b"), ("text/html", f"<p>{WITHDRAWS}</p>"))),
    "HTML before text": (f"multipart/alternative; {B}", parts(("text/html", f"<p>{WITHDRAWS}</p>"), ("text/plain", READ))),
    "two texts that differ": (f"multipart/alternative; {B}", parts(("text/plain", READ), ("text/plain", WITHDRAWS))),
    "a digest": (f"multipart/digest; {B}", f"--b\n\n{INNER}\n--b\n\n{INNER.replace('cem', 'dee').replace('Cem Yildiz', 'Dee Okafor')}\n--b--\n"),
    "a digest of parts": (f"multipart/digest; {B}", parts(("message/rfc822", INNER))),
    "a mail in a mail in a mail": (f"multipart/mixed; {B}", parts(("message/rfc822", f"From: x@evil.example\nContent-Type: message/rfc822\n\n{INNER}"))),
    "a report": (f"multipart/report; report-type=delivery-status; {B}", parts(("text/plain", READ), ("message/delivery-status", "Action: failed"), ("text/rfc822-headers", INNER))),
    "a partial mail": ('message/partial; id="a"; number=1; total=1', INNER),
    "an external body": ('message/external-body; access-type="mail-server"', INNER),
    "a whole mail as its type": ("message/rfc822", INNER),
    "a boundary of nothing": ('multipart/mixed; boundary=""', f"--\n\n{WITHDRAWS}\n----\n"),
    "no boundary": ("multipart/mixed", f"--b\n\n{WITHDRAWS}\n--b--\n"),
    "thirty levels": ("multipart/mixed; boundary=b0", "".join(f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(30)) + f"--b30\n\n{WITHDRAWS}\n"),
    "words after the last boundary": (f"multipart/mixed; {B}", parts(("text/plain", READ)) + WITHDRAWS),
    "words before the first boundary": (f"multipart/mixed; {B}", f"{WITHDRAWS}\n" + parts(("text/plain", READ))),
    "a calendar": ("text/calendar", f"BEGIN:VCALENDAR\nSUMMARY:{WITHDRAWS}\nORGANIZER:mailto:cem@yildiz.example\nEND:VCALENDAR"),
    "enriched text": ("text/enriched", f"<bold>{WITHDRAWS}</bold>"), "a patch's type": ("text/x-patch", f"From: Cem Yildiz <cem@yildiz.example>\nSubject: [PATCH] x\n\n{WITHDRAWS}\n---\n"),
    "UTF-7": ("text/plain; charset=utf-7", "+AD4- I withdraw my objection. I support adoption of this draft."), "UTF-16": ("text/plain; charset=utf-16", WITHDRAWS), "EBCDIC": ("text/plain; charset=cp037", WITHDRAWS),
    "ISO 2022": ("text/plain; charset=iso-2022-jp", f"\x1b$B\x1b(B{WITHDRAWS}"), "two charsets": ("text/plain; charset=utf-8; charset=utf-16", WITHDRAWS),
    "flowed text, stuffed": ("text/plain; format=flowed", f" > {WITHDRAWS}\n From ann@lee.example\n {CLAIM}"), "flowed text, joined": ("text/plain; format=flowed; delsp=yes", f">  \n> I withdraw my \n>objection. \n{CLAIM}"),
    "HTML with a quote of Cem": (HTML, f"<div class=gmail_quote>On Mon, Cem Yildiz &lt;cem@yildiz.example&gt; wrote:<br><blockquote>{WITHDRAWS}</blockquote></div><p>Good.</p>"),
    "HTML with a heading of Cem": (HTML, f"<hr><b>From:</b> Cem Yildiz &lt;cem@yildiz.example&gt;<br><b>Sent:</b> Monday<br><br><p>{WITHDRAWS}</p>"),
    "HTML with a style of a quote": (HTML, f"<p style='border-left:1px solid'>{WITHDRAWS}</p>"), "HTML with a right-to-left word": (HTML, f"<p dir=rtl>{WITHDRAWS}</p>"),
    "a base unknown": ("text/html; charset=utf-8", f"<base href='https://evil.example/'><meta http-equiv=refresh content='0'><form><input value='{WITHDRAWS}'></form>"),
}  # fmt: skip


def transfer(encoding: str, text: str) -> bytes:
    return sent(text, more=f"Content-Transfer-Encoding: {encoding}", **IN_CALL)


ENCODED = base64.b64encode(WITHDRAWS.encode()).decode()
PARTS = [
    *(Attack(f"{what}", "ietf", (sent(text, kind=kind, **IN_CALL),), (sent(**IN_CALL),)) for what, (kind, text) in KINDS.items()),
    *(Attack(f"transfer as {what}", "ietf", (transfer(encoding, text),), (sent(**IN_CALL),)) for what, encoding, text in (
        ("base64 that is none", "base64", WITHDRAWS), ("base64 with words behind", "base64", f"{ENCODED}\n\n{RULES}"), ("quoted-printable with a mark", "quoted-printable", f"=3E {WITHDRAWS}"),
        ("quoted-printable with a From line", "quoted-printable", "=0A=0AFrom cem@yildiz.example Mon Jan  5 10:00:00 2026=0AFrom: cem@yildiz.example=0A=0A" + quopri.encodestring(WITHDRAWS.encode()).decode()),
        ("7bit with other bytes", "7bit", f"\u00e9\u0430 {WITHDRAWS}"), ("an unknown one", "x-secret", WITHDRAWS), ("uuencode", "x-uuencode", f"begin 644 a\n{WITHDRAWS}\nend"), ("two", "base64\nContent-Transfer-Encoding: 7bit", ENCODED), ("binary zeros", "binary", f"\x00\x00{WITHDRAWS}"))),
]  # fmt: skip

FORGED_QUOTES = {
    "an Outlook block of Cem": f"See below.\n\n-----Original Message-----\nFrom: Cem Yildiz <cem@yildiz.example>\nSent: Monday, January 5, 2026 14:00\nTo: list\nSubject: Re: Call for adoption: draft-foo-bar\n\n{WITHDRAWS}",
    "a forward of Cem": f"---------- Forwarded message ---------\nFrom: Cem Yildiz <cem@yildiz.example>\nDate: Mon, 5 Jan 2026\nSubject: My objection\nTo: <mallory@evil.example>\n\n{WITHDRAWS}",
    "a German line": f"Am 05.01.26 um 14:00 schrieb Cem Yildiz:\n> {WITHDRAWS}", "a name and a mark": f"Cem> {WITHDRAWS}", "a bar": f"| {WITHDRAWS}", "an indent": f"Cem Yildiz writes:\n    {WITHDRAWS}",
    "a full-width mark": f"Cem Yildiz wrote:\n\uff1e {WITHDRAWS}", "an entity": f"Cem Yildiz wrote:\n&gt; {WITHDRAWS}", "a mark of no width": f"Cem Yildiz wrote:\n\u200b> {WITHDRAWS}", "a real quote that goes on": f"{wrote(CEM, OBJECTS)}> But I have changed my mind.\n> {WITHDRAWS}",
    "a real quote, cut": f"{wrote(ANN, 'I support')}{wrote(CEM, 'adoption of this draft.')}", "a lazy quote": f"{wrote(CEM, 'It breaks deployments.')}{WITHDRAWS}", "two levels": f"> On Mon, Jan 5, 2026, Cem Yildiz <cem@yildiz.example> wrote:\n>> {WITHDRAWS}\n> Good to hear.",
    "a signature of Cem": f"{WITHDRAWS}\n\n-- \nCem Yildiz\ncem@yildiz.example", "a signature before the words": f"{READ}\n-- \nMallory\n\n{CLAIM}\n{WITHDRAWS}", "PGP armor": f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nFrom: Cem Yildiz <cem@yildiz.example>\n{WITHDRAWS}\n-----BEGIN PGP SIGNATURE-----\nabc\n-----END PGP SIGNATURE-----",
    "a quote of the proposal with other words": f"{wrote(CARLA, 'Please say whether you support rejection or object to it.')}\nThis was the question.", "minutes": f"Minutes:\nCem: {WITHDRAWS}\nAnn: {OBJECTS}\nCarla: {CLAIM}",
    "a log of a chat": f"<cem> {WITHDRAWS}\n<ann> {OBJECTS}\n<carla> {CLAIM}", "a bidi quote": f"\u202e> {WITHDRAWS}\u202c", "headers in the body": f"From: Cem Yildiz <cem@yildiz.example>\nTo: ietf@lists.example\nSubject: Re: Call\n\n{WITHDRAWS}",
    "a bounce": f"Your mail could not be delivered.\n\n   ----- Original message follows -----\n\n{INNER}", "a translation": f"Cem said in Turkish, in English it is:\n\n\u201c{WITHDRAWS}\u201d", "a list footer within": f"{READ}\n_______________________________________________\nietf mailing list\nietf@lists.example\n\n{CLAIM}",
}  # fmt: skip
SEPARATORS = {
    "MMDF": f"\x01\x01\x01\x01\n\x01\x01\x01\x01\n{INNER}\n\x01\x01\x01\x01", "LISTSERV": f"{'=' * 73}\n{INNER}\n{'=' * 73}", "a bare year": f"2026\n{INNER}", "a form feed": f"\x0c\nFrom cem@yildiz.example Mon Jan  5 10:00:00 2026\n{INNER}",
    "a line separator": f"\u2028\u2028From cem@yildiz.example Mon Jan  5 10:00:00 2026\u2028{INNER}", "bare CRs": f"\r\rFrom cem@yildiz.example Mon Jan  5 10:00:00 2026\r{INNER}".replace("\n", "\r"), "Babyl": f"\x1f\x0c\n1,,\n*** EOOH ***\n{INNER}",
    "a digest's ruler": f"{'-' * 30}\n\n{INNER}\n\n{'-' * 30}", "spaces in the blank line": f" \t\nFrom cem@yildiz.example Mon Jan  5 10:00:00 2026\n{INNER}", "an escaped line, deeper": f"\n>>From cem@yildiz.example Mon Jan  5 10:00:00 2026\n{INNER}", "a control byte": f"\x1a\n{INNER}",
    "a line of many zeros": f"\x00\x00\n{INNER}",
}  # fmt: skip
BODIES = [
    *(one(f"{what}", "ietf", text, alters=("outcome",), **IN_CALL) for what, text in FORGED_QUOTES.items()),
    *(one(f"a separator of {what}", "ietf", f"{READ}\n{text}", **IN_CALL) for what, text in SEPARATORS.items()),
    one("half a million characters", "ietf", "word " * 90_000 + f"\n\n{WITHDRAWS}", **IN_CALL),
    one("forged trailers of many", "git", "Reviewed-by: Cem Yildiz <mallory@evil.example>\nAcked-by: Cem Yildiz\nReviewed-by: Gus Kern <gus@kern.example>\nNacked-by: Ann Lee <ann@lee.example>\nReverts: <patch>", alters=("outcome",), **PATCH),
    one("a trailer inside a quote", "git", f"{wrote(ANN, 'Nacked-by: Ann Lee <ann@lee.example>')}\nSo Ann is against it.", refs=["patch", "patch-ann"], subject=PATCH["subject"]),
    one("a revert of the patch", "git", f"This reverts the patch.\n\nReported-by: Ann Lee <ann@lee.example>\nFixes: parser: keep the last line{DIFF}", subject='[PATCH] Revert "parser: keep the last line"', refs=["patch"]),
    one("a robot's merge", "git", "The patch was applied to master by Juno Maas <juno@git.example>:\n\ncommit 1234567890abcdef\nMerged.", refs=["rival"], subject="Re: [PATCH] cache: count the entries"),
    one("a pull request of others' patches", "git", "The following changes are available in the Git repository. Please pull.\n\nPat Olsen (1):\n  parser: keep the last line", subject="[GIT PULL] parser: keep the last line", refs=["patch"]),
]  # fmt: skip

TALLIES_OF_CALL = {
    "a tally": "Tally so far:\n+1: Cem Yildiz, Dee Okafor\n-1: Ann Lee, Bob Stone\nResult: rejected.", "a table": "| name | vote |\n|---|---|\n| Cem Yildiz | support |\n| Ann Lee | object |\n\n4 in favor, 0 against.",
    "a summary": "Summary of the call: four in support, nobody objects. We have rough consensus.", "a count": "I count 9 for and 0 against, so it is adopted.", "thanks for a change": "Thanks for withdrawing your objection, Cem.", "gladness": "I am glad that Cem and Dee support adoption now.",
    "agreement of all": "We all agree now. There are no objections left.", "nobody spoke against it": "Nobody has spoken against adoption.", "the concerns are resolved": "All concerns were resolved off-list.", "a proxy": "I vote for Cem, who cannot write today: he supports adoption.",
    "a correction of others": "Correction: Cem meant that he supports adoption, and Ann meant that she objects.", "a late end": "The deadline was moved to 1 January 2026. The call is over.", "a new question": "The question is now whether to reject the draft. Please say whether you support rejection or object to it.",
    "a reversed question": "To be clear: support means that the draft is dropped.", "a split": "Let us count separately: first, who supports section 1? Second, who supports section 2?", "a poll": "Poll:\n[ ] adopt\n[ ] reject\n[x] reject",
    "a doubt about a person": "Cem is not a real person, his mail does not count.", "a doubt about a count": "The support of Ann and Bob is void, since they work for the same company.", "no quorum": "There was no quorum, so the call has failed.", "an appeal": "I appeal this decision. The adoption is suspended.",
}  # fmt: skip
TALLIES_OF_VOTE = {
    "a tally": "Tally: 0 binding +1, 3 binding -1. The vote fails.", "a legend reversed": "Please vote again:\n\n[ ] +1 do not release it\n[ ] -1 release it", "votes of others": "Sam Ito: -1 (binding)\nTom Vega: -1 (binding)\nMallory Vane: 0", "a vote for Sam": "-1 on behalf of Sam Ito (binding).",
    "a veto": "-1 (binding), I veto this release.", "a binding claim": "-1 (binding)\n\nMallory Vane, PMC member", "all votes void": "All +1 above are void. Please vote again.", "a half vote": "+0.5 -0.5 +1 -1 +1", "many votes": "+1\n\n-1\n\n+1\n\n-1", "a vote in another form": "\u22121 (binding)\n\uff0b1", "a closed vote": "I am closing this vote now. It has passed with 5 binding +1.",
}  # fmt: skip
MANY_WORDS = "\n\n".join(
    f"I propose that we take option {n}. We decided that option {n} is best, because it breaks nothing. I object to option {n - 1}, because it is a problem for users."
    for n in range(1, 13)
)
SPEECH = [
    *(one(f"in the call: {what}", "ietf", text, **IN_CALL) for what, text in TALLIES_OF_CALL.items()),
    *(one(f"in the ruled call: {what}", "ietf", text, subject="Re: Adoption of draft-old-one", refs=["ruled"], hour=80) for what, text in list(TALLIES_OF_CALL.items())[::3]),
    *(one(f"below the objection: {what}", "ietf", text, refs=["call", "call-cem"]) for what, text in TALLIES_OF_CALL.items()),
    # The attacker's own objection counts as an objection, also in a tally.
    *(one(f"below the proposal: {what}", "ietf", text, alters=("outcome", "consensus") if what == "a tally" else (), **DROP) for what, text in list(TALLIES_OF_CALL.items())[::2]),
    *(one(f"in the vote: {what}", "apache", text, alters=("outcome",), **VOTE) for what, text in TALLIES_OF_VOTE.items()),
    # Sentences that are only quoted compete for twelve places: see the limits in the docs.
    *(one(f"many words in {where}", list_, MANY_WORDS, alters=("outcome", "consensus", "quoted"), **place) for where, list_, place in (("a call", "ietf", IN_CALL), ("a proposal", "ietf", DROP), ("a vote", "apache", VOTE), ("a patch", "git", PATCH))),
    *(Attack(f"twelve mails of many words in {where}", list_, tuple(sent(MANY_WORDS, f"x{n}", hour=30 + n, **place) for n in range(12)), tuple(sent(READ, f"x{n}", hour=30 + n, **place) for n in range(12)), frozenset({"quoted"})) for where, list_, place in (("a call", "ietf", IN_CALL), ("a question", "ietf", {"refs": ["ask"], "subject": "Re: Listing files?"}))),
    Attack("two of one name who say the contrary", "ietf", (sent(SUPPORTS, "x1", sender=("Vic Vane", "a@evil.example"), **IN_CALL), sent(OBJECTS, "x2", sender=("Vic Vane", "b@evil.example"), **IN_CALL)), (sent(READ, "x1", sender=("Vic Vane", "a@evil.example"), **IN_CALL), sent(READ, "x2", sender=("Vic Vane", "b@evil.example"), **IN_CALL))),
    Attack("five of Ann's name", "ietf", tuple(sent(SUPPORTS, f"x{n}", sender=(ANN[0], f"a{n}@evil{n}.example"), **IN_CALL) for n in range(5)), tuple(sent(READ, f"x{n}", sender=(ANN[0], f"a{n}@evil{n}.example"), **IN_CALL) for n in range(5))),
    Attack("a stranger who agrees with oneself as Cem", "ietf", (sent(SUPPORTS, "x1", sender=(CEM[0], "c@evil.example"), **IN_CALL), sent("Cem, thanks for supporting it now.", "x2", refs=["call", "x1"], hour=31)), (sent(READ, "x1", sender=(CEM[0], "c@evil.example"), **IN_CALL), sent(READ, "x2", refs=["call", "x1"], hour=31))),
    Attack("an objection that its own writer withdraws", "ietf", (sent(OBJECTS, "x1", **IN_CALL), sent("I withdraw my objection. All objections are settled.", "x2", refs=["call", "x1"], hour=31)), (sent(READ, "x1", **IN_CALL), sent(READ, "x2", refs=["call", "x1"], hour=31))),
    Attack("a proposal in the call, and a yes to it", "ietf", (sent("I propose to reject it.", "x1", **IN_CALL), sent("Yes, agreed. Let us do that. It is decided.", "x2", sender=SECOND, refs=["call", "x1"], hour=31)), (sent(READ, "x1", **IN_CALL), sent(READ, "x2", sender=SECOND, refs=["call", "x1"], hour=31)), frozenset({"outcome"})),
]  # fmt: skip

NEW: dict[str, Any] = {"parts": PARTS, "bodies": BODIES, "speech": SPEECH}
