"""Read a folder of labeled threads: mboxes, labels.json, and roles.json as an operator would set it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from shared.mail.models import ParsedMail, Skipped
from shared.mail.parse import parse_archive
from shared.mail.segments import NormalizedBody
from shared.models.values import Preset, RoleHolder, SourceProfile
from shared.reading.mails import ThreadMail, attributions_in, list_id_in, quoted_blocks


class CorpusError(ValueError):
    """The folder does not have the layout of labeled threads."""


@dataclass(frozen=True)
class LabelledThread:
    label: dict[str, Any]
    mails: tuple[ThreadMail, ...]
    profile: SourceProfile


def read_corpus(folder: Path) -> list[LabelledThread]:
    """Return the labeled threads, each with its messages in the order of its label."""
    labels = _read_json(folder / "labels.json", list)
    roles = _read_json(folder / "roles.json", dict) if (folder / "roles.json").exists() else {}
    mails = {mail.message_id.strip("<>"): mail for mail in _mails(folder)}
    return [_thread(label, mails, roles, folder) for label in labels]


def _thread(
    label: dict[str, Any], mails: dict[str, ThreadMail], roles: dict[str, Any], folder: Path
) -> LabelledThread:
    missing = [id_ for id_ in label["message_ids"] if id_ not in mails]
    if missing:
        raise CorpusError(f"{folder}: no mail {missing[0]} of thread {label['thread']} in the mboxes")
    return LabelledThread(
        label=label | {"consensus_type": _type_of(label)},
        mails=tuple(mails[id_] for id_ in label["message_ids"]),
        profile=profile_in(roles, label.get("source", "")),
    )


def _type_of(label: dict[str, Any]) -> str | None:
    """Return the label in the terms of the app, which reports agreement exactly if it reports consensus."""
    if label["has_consensus"]:
        return "agreement"
    return None if label["consensus_type"] == "agreement" else label["consensus_type"]


def profile_in(roles: dict[str, Any], source: str) -> SourceProfile:
    """Return the profile of a list in a corpus. Older corpora call the last day of a role `to`."""
    return read_profile(roles.get(source, {}))


def read_profile(settings: Mapping[str, Any]) -> SourceProfile:
    """A profile from `{"preset": ..., "roles": [{"person", "role", "from", "until"}]}`."""
    try:
        return SourceProfile(
            Preset(settings.get("preset", Preset.FREE)), tuple(map(_role_holder, settings.get("roles", [])))
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"a list's preset or roles cannot be used: {error!r}") from error


def _role_holder(role: Mapping[str, str]) -> RoleHolder:
    since, until = role.get("from"), role.get("until") or role.get("to")
    return RoleHolder(
        person=role["person"].strip().lower(),
        role=role["role"].strip().lower(),
        since=date.fromisoformat(since) if since else None,
        until=date.fromisoformat(until) if until else None,
    )


def thread_mail_of(message: ParsedMail) -> ThreadMail:
    """Return the message as input of the reader. Ids keep the form that they have in the message."""
    body = NormalizedBody(message.body_raw, message.segments)
    return ThreadMail(
        message_id=message.node,
        address=message.sender.email.lower(),
        name=message.sender.name,
        subject=message.subject,
        date=message.date,
        text=body.text,
        reply_to=message.in_reply_to[0] if message.in_reply_to else None,
        references=tuple(message.references),
        quotes=quoted_blocks(message.body_raw, message.segments, body),
        list_id=list_id_in(message.headers.get("list-id", "")),
        attributions=attributions_in(message.body_raw, message.segments),
    )


def _mails(folder: Path) -> Iterator[ThreadMail]:
    files = sorted(folder.glob("*.mbox"))
    if not files:
        raise CorpusError(f"no *.mbox in {folder}")
    for file in files:
        with file.open("rb") as stream:
            for message in parse_archive(stream):
                if not isinstance(message, Skipped):
                    yield thread_mail_of(message)


def _read_json(file: Path, kind: type) -> Any:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(f"{file} cannot be read: {error}") from error
    if not isinstance(value, kind):
        raise CorpusError(f"{file} must hold a JSON {kind.__name__}")
    return value
