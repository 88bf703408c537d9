"""Attacks that were written after the rules, without knowledge of the rules."""

from tests.attacks.honest import (
    ANN,
    BOB,
    CARLA,
    CEM,
    DIFF,
    DROP,
    IN_CALL,
    JUNO,
    MALLORY,
    PATCH,
    SECOND,
    TO_CALL,
    VOTE,
    Attack,
    mail,
    wrote,
)  # fmt: skip
from tests.attacks.of_mails import HTML, many
from tests.attacks.of_people import OBJECTS, READ, SUPPORTS, one

ADDRESSES = {
    "a Cyrillic letter in a domain": "ann@l\u0435e.example", "a digit in a domain": "cem@y1ldiz.example",
    "a subdomain": "ann@lee.example.evil.example", "a hyphen": "ann@lee-example.evil", "another top level": "ann@lee.evil",
    "an upper-case local part": "ANN@evil.example", "a plus tag of one's own": "mallory+ann@evil.example", "rn for m": "cern@yildiz.example",
}  # fmt: skip
TRAILERS = (
    "Reviewed-by: Ann Lee <ann@lee.example>", "Acked-by: Juno Maas <juno@git.example>", "NAcked-by: Ann Lee <ann@lee.example>",
    "Nacked-by: Bob Stone <bob@stone.example>", "Tested-by: Bob Stone <bob@stone.example>", "Signed-off-by: Juno Maas <juno@git.example>",
)  # fmt: skip
HEARSAY = (
    "Carla asked me to say that the call is closed and the draft is adopted.", "Ann told me that she objects to adoption now.",
    "Cem agrees with me that his objection is settled.", "The chairs have decided that there is no consensus.",
    "As agreed at the meeting, the draft is rejected.", "Everybody at the meeting was against it.",
)  # fmt: skip
OTHER_PARTS = {
    "a mail inside a mail": ('multipart/mixed; boundary="b"', "--b\nContent-Type: text/plain\n\nI have read the draft.\n--b\nContent-Type: message/rfc822\n\nFrom: Ann Lee <ann@lee.example>\nMessage-ID: <call-ann>\nSubject: Re: Call\n\nI object to adoption of this draft.\n--b--\n"),
    "two versions that differ": ('multipart/alternative; boundary="b"', f"--b\nContent-Type: text/plain\n\n{READ}\n--b\nContent-Type: text/html\n\n<p>{OBJECTS}</p>\n--b--\n"),
    "a part without an end": ('multipart/mixed; boundary="b"', f"--b\nContent-Type: text/plain\n\n{READ}\n--b\nContent-Type: text/plain; charset=x-nothing\n\nRead."),
    "an attachment": ('multipart/mixed; boundary="b"', f"--b\nContent-Type: text/plain\n\n{READ}\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\n{OBJECTS}\n--b--\n"),
}  # fmt: skip
REFERENCES = {
    "all threads": ["drop", "ask", "ruled", "call"], "all threads, the other way": ["call", "ruled", "ask", "drop"],
    "an answer and nothing else": ["call-cem"], "itself": ["x1", "call"], "nobody": ["nobody-1", "nobody-2"], "a thousand": ["call"] * 1000,
}  # fmt: skip

AFTERWARDS = [
    *(one(f"{what}: {words}", "ietf", words, sender=("", address), **IN_CALL) for what, address in ADDRESSES.items() for words in ("I withdraw my objection. I withdraw my support.",)),
    *(one(f"{what} with the name of Cem", "ietf", "I no longer object.", sender=("Cem Yildiz", address), **IN_CALL) for what, address in list(ADDRESSES.items())[:4]),
    *(one(f"another's trailer: {line}", "git", line, alters=(), **PATCH) for line in TRAILERS),
    *(one(f"a patch with the trailer {line}", "git", f"Keep all lines.\n\n{line}{DIFF}", subject="[PATCH v2] parser: keep the last line", refs=["patch"]) for line in TRAILERS[:3]),
    *(one(f"hearsay: {words}", "ietf", words, **IN_CALL) for words in HEARSAY),
    *(one(f"hearsay in the ruled call: {words}", "ietf", words, subject="Re: Adoption of draft-old-one", refs=["ruled"], hour=80) for words in HEARSAY[2:5]),
    *(one(f"by {what}", "ietf", text, kind=kind, **IN_CALL) for what, (kind, text) in OTHER_PARTS.items()),
    *(one(f"references to {what}", "ietf", READ, twin=None, refs=refs) for what, refs in REFERENCES.items()),
    one("a whole thread quoted, and a word below", "ietf", f"{wrote(ANN, SUPPORTS)}{wrote(CEM, OBJECTS)}{TO_CALL}\nThis.", **IN_CALL),
    one("an answer above a quote of oneself as another", "ietf", f"No.\n\n{wrote(BOB, 'Shall we withdraw our support? I withdraw mine.')}", refs=["call", "call-bob"]),
    one("a program's address", "git", "Applied, thanks. This patch was rejected by the maintainer.", sender=("patchwork-bot", "noreply@evil.example"), **PATCH),
    one("a non-binding vote against", "apache", "-1, I do not like it.", alters=("outcome",), **VOTE),
    many("votes of strangers for", "apache", "+1", 3, alters=("outcome", "consensus"), **VOTE),
    one("a chair of another list by the address's name", "ietf", "The call is closed. The draft is adopted.", sender=("carla@chairs.example", "mallory@evil.example"), **IN_CALL),
    one("a chair in the comment of a From field", "ietf", "The call is closed. The draft is adopted.", sender=("Mallory (Carla Ruiz <carla@chairs.example>)", "mallory@evil.example"), **IN_CALL),
    one("a second From field", "ietf", "The call is closed. The draft is adopted.", more="From: Carla Ruiz <carla@chairs.example>", **IN_CALL),
    one("a Sender field and a Reply-To of the chair", "ietf", "The call is closed. The draft is adopted.", more="Sender: carla@chairs.example\nReply-To: carla@chairs.example", **IN_CALL),
    one("a result in the body of an HTML mail", "ietf", "<h1>The draft is adopted</h1><p>Carla Ruiz, chair</p>", kind=HTML, **IN_CALL),
    one("an extension of the call", "ietf", "The call is extended until 30 March 2027.", **IN_CALL),
    one("another end of the call", "ietf", "The call ends today.", **IN_CALL),
    one("a new version of another's proposal", "ietf", "I propose to drop the new format instead. Please say what you think.", subject="Drop the new format", refs=["drop"], hour=5.5),
    one("the proposal again, early, by another", "ietf", "I propose to drop the old archive format.", subject="Drop the old archive format", refs=["drop"], hour=5.1),
    one("thanks for an answer that was asked by another", "ietf", "Thanks, that does not work for me. What else?", subject="Re: Listing files?", refs=["ask", "ask-gus"], hour=12.5, twin=None),
    Attack("a mail to oneself, then to all", "ietf", (mail("x1", MALLORY, "Please say whether you support my draft.", subject="Re: Call for adoption: draft-foo-bar", refs=["call"], hour=0.3), mail("x2", SECOND, "I support it.", refs=["call", "x1"], hour=0.4)), (mail("x1", MALLORY, READ, refs=["call"], hour=0.3), mail("x2", SECOND, READ, refs=["call", "x1"], hour=0.4))),
    Attack("a circle of one's own", "ietf", (mail("x1", MALLORY, READ, refs=["x2", "call"], hour=30), mail("x2", SECOND, READ, refs=["x1"], hour=31))),
]  # fmt: skip

__all__ = ["CARLA", "DROP", "JUNO"]
