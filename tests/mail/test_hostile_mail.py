"""Hostile mail that tries to keep the parser busy: time may grow with size, but not quadratically."""

import pytest

from shared.mail.parse import parse_message
from shared.mail.quotes import _is_original
from tests.support.cpu import within_cpu

SPACES = " " * 90_000
HEAD = "From: eve@example.com\nSubject: x\n\n"


@pytest.mark.parametrize(
    "mail",
    [
        f"From: a{SPACES}b\nTo: a{SPACES}at\nCc: dot{SPACES}[x\n\ntext\n",
        f"{HEAD}-- Original Message{SPACES}x\n",
        f"{HEAD}{'-- Forwarded by ' + '-' * 380 + 'x'}\n" * 1000,
        f"{HEAD}To unsubscribe from this list\n{'a:https://' * 30_000} x\n",
        f"{HEAD}____________________\nmailing list\n{'a:' * 100_000} x\n",
    ],
    ids=["spaces in addresses", "spaces after a block", "dashes after a block", "links", "colons"],
)
@pytest.mark.requirement("R-307")
def test_no_mail_keeps_the_parser_busy(mail: str) -> None:
    with within_cpu(6.0):
        parse_message(mail.encode())


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 50_000 + "Seen.",
        "<div></p>" * 50_000 + "Seen.",
        "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">Seen.",
        "".join(f"<b i={number}>" for number in range(5_000)) + "<p>x" * 5_000 + "Seen.",
        "<ul><li>" * 40_000 + "Seen.",
    ],
    ids=["deep", "deep with other ends", "attributes", "formatting", "lists"],
)
def test_no_html_keeps_the_parser_busy_or_hides_its_text(html: str) -> None:
    with within_cpu(6.0):
        message = parse_message(f"{HEAD.strip()}\nContent-Type: text/html\n\n{html}\n".encode())
    assert "Seen." in message.body_normalized


def test_a_long_field_is_read_without_its_runs_of_spaces() -> None:
    to = ",   ".join(f"Ada   Number{number} <ada{number}@example.org>" for number in range(50))
    message = parse_message(f"From: eve@example.com\nTo: {to}\n\ntext\n".encode())
    assert [tuple(address) for address in message.to][:2] == [
        ("Ada Number0", "ada0@example.org"),
        ("Ada Number1", "ada1@example.org"),
    ]
    assert len(message.to) == 50


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("-----Original Message-----", True),
        ("---- Original message ----  ", True),
        ("-- Original Message of Ada, 3 May - -", True),
        ("-----Original Message " + "x" * 80, False),
        ("------ Forwarded by Ada Lovelace/IBM on 3 May 1999 ------", True),
        ("------ Forwarded by -", True),
        ("------ Forwarded by ", False),
        ("------ Forwarded by " + "x" * 300, False),
        ("Begin forwarded message:  ", True),
        ("Begin forwarded message: see below", False),
    ],
)
def test_what_introduces_a_forwarded_mail_is_short(line: str, is_one: bool) -> None:
    assert _is_original(line) is is_one
