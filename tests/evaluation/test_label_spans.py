"""Labels are published as ids, places and digests, and are restored with the messages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.label_spans import LabelSpanError, main, own_words, pack, read_mails, unpack

PUBLISHED = [Path(__file__).parents[2] / f"evaluation/labels/{part}.json" for part in ("read", "unread")]
WORDS = re.compile(r"\s")

MBOX = """From pat@list.example Mon Jan 01 10:00:00 2024
From: "Pat Póst" <Pat@list.example>
Subject: [PATCH] oil the gate
Date: Mon, 01 Jan 2024 10:00:00 +0000
Message-ID: <m0@list.example>
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Oil the gate, so that
it no longer creaks.

From ann@list.example Mon Jan 01 11:00:00 2024
From: Ann <ann@list.example>
Subject: Re: [PATCH] oil the gate
Date: Mon, 01 Jan 2024 11:00:00 +0000
Message-ID: <m1@list.example>
In-Reply-To: <m0@list.example>

> Oil the gate, so that
> it no longer creaks.

I like it,
will queue it.
>From my side nothing is open.

"""
PUT = {"quote": "Oil the gate, so that it no longer creaks.", "message_id": "m0@list.example"}
QUEUED = {"quote": "will queue it.", "message_id": "m1@list.example"}
LABEL: dict[str, Any] = {
    "thread": "list-1",
    "source": "list",
    "genre": "patch",
    "outcome": "accepted",
    "has_consensus": True,
    "consensus_type": "agreement",
    "confidence": "high",
    "message_ids": ["m0@list.example", "m1@list.example"],
    "proposition_message_id": "m0@list.example",
    "outcome_evidence": [QUEUED],
    "positions": [
        {"person": "pat@list.example", "stance": "proposer", "explicit": True, **PUT},
        {"person": "ann@list.example", "stance": "support", "explicit": True, **QUEUED},
    ],
    "objections": [{"person": "ann@list.example", "status": "resolved", **QUEUED}],
    "decisions": [QUEUED],
    "open_issues": [],
    "key_points": [PUT, QUEUED],
}
ROLES = {
    "list": {
        "preset": "maintainer",
        "roles": [
            {"person": "ann@list.example", "role": "maintainer", "from": "2024-01-01"},
            {"person": "silent@list.example", "role": "maintainer"},
        ],
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "list.mbox").write_text(MBOX, encoding="utf-8")
    (labels / "labels.json").write_text(json.dumps([{**LABEL, "summary": "A gate."}]), encoding="utf-8")
    (labels / "roles.json").write_text(json.dumps(ROLES), encoding="utf-8")
    return labels


def test_labels_come_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    packed, back = tmp_path / "packed.json", tmp_path / "back"
    assert main(["pack", str(folder), str(packed)]) == 0
    assert main(["unpack", str(packed), str(folder), str(back)]) == 0
    assert json.loads((back / "labels.json").read_text(encoding="utf-8")) == [LABEL]
    assert (back / "list.mbox").read_bytes() == (folder / "list.mbox").read_bytes()


def test_who_decides_comes_back_and_who_wrote_nothing_is_left_out(folder: Path) -> None:
    mails = read_mails(folder)
    _, roles = unpack(pack([LABEL], ROLES, mails), mails)
    assert roles == {"list": {"preset": "maintainer", "roles": ROLES["list"]["roles"][:1]}}


def test_what_is_packed_has_neither_words_nor_addresses(folder: Path) -> None:
    packed = json.dumps(pack([LABEL], ROLES, read_mails(folder)))
    assert "m1@list.example" in packed
    for told in ("queue", "creaks", "ann@list.example", "pat@list.example", "A gate."):
        assert told not in packed


def test_quoted_lines_are_nobodys_own_words() -> None:
    assert (
        own_words("> not mine\n mine,\n\tand  mine\n >> nor this\n>From me too")
        == "mine, and mine >From me too"
    )


def test_a_quote_that_the_mail_does_not_say_is_refused(folder: Path) -> None:
    stolen = {**LABEL, "decisions": [{**PUT, "message_id": "m1@list.example"}]}
    with pytest.raises(LabelSpanError, match=r"m1@list\.example does not say"):
        pack([stolen], {}, read_mails(folder))


def test_a_position_of_somebody_else_is_refused(folder: Path) -> None:
    other = {**LABEL, "positions": [{**LABEL["positions"][1], "person": "pat@list.example"}]}
    with pytest.raises(LabelSpanError, match=r"m1@list\.example is not by pat"):
        pack([other], {}, read_mails(folder))


def test_other_words_at_the_labelled_place_are_found_out(folder: Path) -> None:
    packed = pack([LABEL], ROLES, read_mails(folder))
    (folder / "list.mbox").write_text(MBOX.replace("will queue", "wont queue"), encoding="utf-8")
    with pytest.raises(LabelSpanError, match="other words at 11 to 25"):
        unpack(packed, read_mails(folder))


def test_missing_mails_are_named(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed, empty = tmp_path / "packed.json", tmp_path / "empty"
    empty.mkdir()
    assert main(["pack", str(folder), str(packed)]) == 0
    assert main(["unpack", str(packed), str(empty), str(tmp_path / "back")]) == 1
    (empty / "list.mbox").write_text(MBOX.split("From ann@", maxsplit=1)[0], encoding="utf-8")
    assert main(["unpack", str(packed), str(empty), str(tmp_path / "back")]) == 1
    said = capsys.readouterr().err
    assert "no mails in" in said
    assert "no mail m1@list.example in the mboxes" in said


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_no_word_of_mail_is_published(file: Path) -> None:
    packed = json.loads(file.read_text(encoding="utf-8"))
    assert len(packed["threads"]) > 20
    strings = [one.replace("release manager", "") for one in _strings(packed)]
    assert [one for one in strings if WORDS.search(one)] == []


def test_both_parts_are_published_and_share_no_thread() -> None:
    read, unread = (
        {one["mails"][0] for one in json.loads(file.read_text(encoding="utf-8"))["threads"]}
        for file in PUBLISHED
    )
    assert read
    assert unread
    assert not read & unread
