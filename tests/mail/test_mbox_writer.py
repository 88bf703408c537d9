"""A written mbox is read back unchanged."""

import mailbox
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from shared.mail.mbox_writer import WrittenMail, mbox_of


def mail(**changed: object) -> WrittenMail:
    values: dict[str, object] = {
        "message_id": "<1@a.example>",
        "sender": ("Zoë Ørsted", "z***@a.example"),
        "recipients": (("", "list@a.example"),),
        "copied": (),
        "date": datetime(2024, 3, 1, 12, 30, tzinfo=UTC),
        "subject": "Größe of receipts",
        "in_reply_to": "<0@a.example>",
        "references": ("<0@a.example>",),
        "text": "From here on\n>From there\nplain ✓\n",
    }
    return WrittenMail(**{**values, **changed})  # type: ignore[arg-type]  # a test's shorthand


def read(path: Path, content: bytes) -> list[mailbox.mboxMessage]:
    path.write_bytes(content)
    with closing(mailbox.mbox(path)) as box:
        return list(box)


def test_headers_and_text_come_back(tmp_path: Path) -> None:
    first, second = read(tmp_path / "x.mbox", mbox_of([mail(), mail(message_id="<2@a.example>")]))
    assert (first["Message-ID"], second["Message-ID"]) == ("<1@a.example>", "<2@a.example>")
    assert first["In-Reply-To"] == "<0@a.example>"
    assert first["Date"] == "Fri, 01 Mar 2024 12:30:00 +0000"
    assert "z***@a.example" in first["From"]
    body = first.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert body.decode() == ">From here on\n>>From there\nplain ✓\n"


def test_a_header_cannot_add_another_nor_a_mail(tmp_path: Path) -> None:
    hostile = mail(
        subject="x\nBcc: victim@example.org\n\nFrom nobody",
        message_id="<1@a\r\nX-Added: 1>",
        sender=("a\nb", "c\n@d"),
        text="\nFrom evil Mon Jan  1 00:00:00 2024\nSubject: another\n\n",
    )
    (only,) = read(tmp_path / "x.mbox", mbox_of([hostile]))
    assert {name.lower() for name in only} == {
        "from", "to", "date", "subject", "message-id", "in-reply-to", "references", "content-type",
        "content-transfer-encoding",
    }  # fmt: skip
