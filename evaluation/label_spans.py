"""Store labeled threads as ids, places and digests, without mail: `python -m evaluation.label_spans`.

`pack FOLDER FILE` turns a folder of labels (mboxes, labels.json, roles.json) into one file that may be
published. `unpack FILE MBOXES FOLDER` restores the folder, given mboxes with the messages. A quote is stored
as its place in the message's own words and a digest, so that different words at that place are detected.
"""

import argparse
import email.utils
import hashlib
import json
import mailbox
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any

_QUOTED = re.compile(r"\s*>(?!From )")
_KEPT = ("thread", "source", "genre", "outcome", "has_consensus", "consensus_type", "confidence")
_QUOTES = ("outcome_evidence", "positions", "objections", "decisions", "open_issues", "key_points")
_OF_QUOTE = {"positions": ("stance", "explicit"), "objections": ("status",)}
_WITH_PERSON = {"positions", "objections"}
_DIGEST_LENGTH = 8


class LabelSpanError(ValueError):
    """The labels and the messages do not belong together."""


@dataclass(frozen=True)
class LabelledMail:
    sender: str
    words: str


def own_words(text: str) -> str:
    """Return the writer's own words: no quoted lines, and each run of blanks and line breaks as one blank."""
    own = (line for line in text.splitlines() if not _QUOTED.match(line))
    return " ".join(" ".join(own).split())


def read_mails(folder: Path) -> dict[str, LabelledMail]:
    """Return the messages of all mboxes of a folder by Message-ID, without angle brackets."""
    mails: dict[str, LabelledMail] = {}
    for file in sorted(folder.glob("*.mbox")):
        box = mailbox.mbox(file, create=False)
        for message in box:
            mails[str(message["Message-ID"]).strip().strip("<>")] = _mail(message)
        box.close()
    if not mails:
        raise LabelSpanError(f"no mails in {folder}: put the lists' *.mbox there")
    return mails


def pack(
    labels: list[dict[str, Any]], roles: dict[str, Any], mails: dict[str, LabelledMail]
) -> dict[str, Any]:
    """Return the labels in the form that may be published."""
    return {
        "roles": {source: _packed_roles(profile, mails) for source, profile in roles.items()},
        "threads": [_packed_thread(label, mails) for label in labels],
    }


def unpack(
    packed: dict[str, Any], mails: dict[str, LabelledMail]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Write labels and roles for `evaluation.consensus --labels`."""
    labels = [_label(thread, mails) for thread in packed["threads"]]
    return labels, {source: _roles(profile, mails) for source, profile in packed["roles"].items()}


def _mail(message: Message) -> LabelledMail:
    part = next(
        (subpart for subpart in message.walk() if subpart.get_content_type() == "text/plain"), message
    )
    content = part.get_payload(decode=True)
    text = content.decode(part.get_content_charset("utf-8"), "replace") if isinstance(content, bytes) else ""
    return LabelledMail(email.utils.parseaddr(str(message["From"]))[1].lower(), own_words(text))


def _packed_thread(label: dict[str, Any], mails: dict[str, LabelledMail]) -> dict[str, Any]:
    ids: list[str] = label["message_ids"]
    proposal = label["proposition_message_id"]
    kept = {name: label[name] for name in _KEPT}
    spans = {name: [_span(quote, name, ids, mails) for quote in label[name]] for name in _QUOTES}
    return {**kept, "mails": ids, "proposition": None if proposal is None else ids.index(proposal), **spans}


def _span(quote: dict[str, Any], kind: str, ids: list[str], mails: dict[str, LabelledMail]) -> list[Any]:
    mail = _mail_of(quote["message_id"], mails)
    start = mail.words.find(quote["quote"])
    if start < 0:
        raise LabelSpanError(f"mail {quote['message_id']} does not say {quote['quote']!r} in its own words")
    if kind in _WITH_PERSON and quote["person"] != mail.sender:
        raise LabelSpanError(f"mail {quote['message_id']} is not by {quote['person']}")
    place = [ids.index(quote["message_id"]), start, start + len(quote["quote"]), _digest(quote["quote"])]
    return place + [quote[name] for name in _OF_QUOTE.get(kind, ())]


def _label(thread: dict[str, Any], mails: dict[str, LabelledMail]) -> dict[str, Any]:
    ids: list[str] = thread["mails"]
    proposal = thread["proposition"]
    return {
        **{name: thread[name] for name in _KEPT},
        "message_ids": ids,
        "proposition_message_id": None if proposal is None else ids[proposal],
        **{name: [_quote(span, name, ids, mails) for span in thread[name]] for name in _QUOTES},
    }


def _quote(span: list[Any], kind: str, ids: list[str], mails: dict[str, LabelledMail]) -> dict[str, Any]:
    number, start, end, digest, *rest = span
    mail = _mail_of(ids[number], mails)
    words = mail.words[start:end]
    if _digest(words) != digest:
        raise LabelSpanError(f"mail {ids[number]} has other words at {start} to {end} than those labelled")
    person = {"person": mail.sender} if kind in _WITH_PERSON else {}
    named = dict(zip(_OF_QUOTE.get(kind, ()), rest, strict=True))
    return {**person, **named, "quote": words, "message_id": ids[number]}


def _packed_roles(profile: dict[str, Any], mails: dict[str, LabelledMail]) -> dict[str, Any]:
    """Name each role holder by one of their messages, without an address. Others are left out."""
    first = {mail.sender: message_id for message_id, mail in reversed(mails.items())}
    known = [role for role in profile["roles"] if role["person"] in first]
    return {"preset": profile["preset"], "roles": [_by_mail(role, first[role["person"]]) for role in known]}


def _by_mail(role: dict[str, str], message_id: str) -> dict[str, str]:
    return {"sender_of": message_id, **{name: value for name, value in role.items() if name != "person"}}


def _roles(profile: dict[str, Any], mails: dict[str, LabelledMail]) -> dict[str, Any]:
    return {**profile, "roles": [_by_address(role, mails) for role in profile["roles"]]}


def _by_address(role: dict[str, str], mails: dict[str, LabelledMail]) -> dict[str, str]:
    rest = {name: value for name, value in role.items() if name != "sender_of"}
    return {"person": _mail_of(role["sender_of"], mails).sender, **rest}


def _mail_of(message_id: str, mails: dict[str, LabelledMail]) -> LabelledMail:
    if message_id not in mails:
        raise LabelSpanError(f"no mail {message_id} in the mboxes")
    return mails[message_id]


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:_DIGEST_LENGTH]


def _pack_folder(folder: Path, file: Path) -> None:
    labels, roles = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("labels.json", "roles.json")
    )
    packed = pack(labels, roles, read_mails(folder))
    threads = ",\n".join(json.dumps(thread) for thread in packed["threads"])
    file.write_text(
        f'{{"roles": {json.dumps(packed["roles"])},\n"threads": [\n{threads}\n]}}\n', encoding="utf-8"
    )


def _unpack_folder(file: Path, mboxes: Path, folder: Path) -> None:
    labels, roles = unpack(json.loads(file.read_text(encoding="utf-8")), read_mails(mboxes))
    folder.mkdir(parents=True, exist_ok=True)
    for box in mboxes.glob("*.mbox"):
        shutil.copy(box, folder / box.name)
    (folder / "labels.json").write_text(json.dumps(labels, indent=1), encoding="utf-8")
    (folder / "roles.json").write_text(json.dumps(roles, indent=1), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.label_spans", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    packing = commands.add_parser("pack")
    unpacking = commands.add_parser("unpack")
    for command, names in ((packing, ("folder", "file")), (unpacking, ("file", "mboxes", "folder"))):
        for name in names:
            command.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "pack":
            _pack_folder(options.folder, options.file)
        else:
            _unpack_folder(options.file, options.mboxes, options.folder)
    except (LabelSpanError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
