"""No input may crash, hang or blow up the parser."""

import io
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shared.mail.charsets import decode_words
from shared.mail.header_values import parse_addresses, parse_date
from shared.mail.headers import ids_in, one_id, parameters, parent_ids
from shared.mail.html import html_to_text
from shared.mail.mentions import find_mentions
from shared.mail.models import Limits, MailboxError, ParsedMail, Skipped
from shared.mail.parse import parse_archive, parse_message
from shared.mail.segments import NormalizedBody, segment
from shared.threading.subject_links import read_subject
from tests.mail.hard_mails import CASES
from tests.support.mail_data import ROOT

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FRAGMENTS = [
    b"From: a@b\n", b"Subject: =?utf-8?q?=C3?=\n", b"Message-ID: <1@x>\n", b"References: <a> <b\n @c>\n",
    b"\n", b"\n\n", b"Content-Type: multipart/mixed; boundary=b\n",
    b'Content-Type: multipart/alternative; boundary="b"\n', b"--b\n", b"--b--\n",
    b"Content-Type: text/html\n", b"Content-Type: message/rfc822\n",
    b"Content-Type: text/plain; charset=utf-7\n", b"Content-Transfer-Encoding: base64\n",
    b"Content-Transfer-Encoding: quoted-printable\n", b"QUJD\n", b"=C3=\n", b"> q\n", b"-- \n",
    b"On Monday, Bob wrote:\n", b"-----Original Message-----\n", b"From: x\nSent: y\nTo: z\n",
    b"<p>a<blockquote>b", b"\xff\xfe\x00", b"From a@b Mon Feb  5 10:00:00 2024\n",
    b"____________________\nx mailing list\n", b"\r\n", b"\r", b"\x01\x01\x01\x01\n",
    b"Content-Type: text/plain; format=flowed; delsp=yes\n", b"Date: Mon, 5 Feb 2024 10:00:00 +0000\n",
    b"word ", b">>> x\n",
]  # fmt: skip
mails = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=30), max_size=40).map(b"".join)


def check(message: ParsedMail) -> None:
    position = 0
    for _, start, end in message.segments:
        assert start == position < end
        position = end
    assert position == len(message.body_raw)
    body = NormalizedBody(message.body_raw, message.segments)
    assert body.text == message.body_normalized
    spans = body.raw_spans(0, len(body.text))
    assert "\n\n".join(message.body_raw[a:b] for a, b in spans) == body.text
    repr(message).encode("utf-8")


@QUICK
@given(mails)
@example(b"\n")
def test_any_bytes_are_a_message_or_a_clear_failure(data: bytes) -> None:
    try:
        message = parse_message(data)
    except ValueError as error:
        assert str(error) == "neither headers nor a body"  # noqa: PT017 -- any other error must show as itself
        return
    check(message)
    assert parse_message(data) == message


@QUICK
@given(mails)
def test_any_bytes_are_an_archive_or_a_clear_failure(data: bytes) -> None:
    try:
        found = list(parse_archive(io.BytesIO(b"From x Mon Feb  5 10:00:00 2024\n" + data)))
    except MailboxError:
        return
    for one in found:
        if isinstance(one, Skipped):
            assert one.reason in {"empty message", "cannot be parsed: ValueError: neither headers nor a body"}
        else:
            check(one)


@QUICK
@given(st.text(max_size=300))
def test_any_text_has_segments_and_mentions(text: str) -> None:
    text = text.replace("\r", "\n")
    assert "".join(text[start:end] for _, start, end in segment(text)) == text
    find_mentions(text)
    read_subject(text)
    html_to_text(text)


@QUICK
@given(st.text(alphabet='ab@<>()",;: \\at.=?\n', max_size=80))
def test_any_header_is_read(text: str) -> None:
    for address in parse_addresses(text):
        assert address.name or address.email
    decode_words(text)
    parse_date(text)
    parameters(text)
    one_id(text)
    assert len(ids_in(text, 5)) <= 5
    parent_ids(text, frozenset())


NESTED = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"
SPREAD = b"=" + b" " * 500
HOSTILE = {
    "unclosed comments": b"From: " + b"(" * 200_000 + b"\n\nx",
    "quotes": b"To: " + b'"' * 99_999 + b"\n\nx",
    "commas": b"To: " + b"," * 200_000 + b"\n\nx",
    "many recipients": b"To: " + b"a@b, " * 100_000 + b"\n\nx",
    "encoded words that never end": b"Subject: " + b"=?a?q?" * 50_000 + b"\n\nx",
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 30_000 + b"\n\nx",
    "references": b"References: " + b"<a@b> " * 50_000 + b"\n\nx",
    "brackets": b"References: " + b"<" * 300_000 + b"\n\nx",
    "bare ids": b"In-Reply-To: " + b"a" * 300_000 + b"@\n\nx",
    "blanks in a header": b"Subject: " + b" " * 400_000 + b"x\n\nx",
    "folded lines": b"Subject: a" + b"\n " * 200_000 + b"\n\nx",
    "headers": b"".join(b"X-%d: y\n" % n for n in range(30_000)) + b"\nx",
    "no colon": b"a" * 400_000 + b"\n\nx",
    "parameters": b"Content-Type: text/plain" + b"; a=b" * 100_000 + b"\n\nx",
    "semicolons": b"Content-Type: text/plain" + b";" * 300_000 + b"\n\nx",
    "deep multiparts": b"".join(NESTED % (n, n) for n in range(3_000)),
    "deep messages": b"Content-Type: message/rfc822\n\n" * 5_000,
    "many parts": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 100_000,
    "boundaries that are none": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--bx\n" * 300_000,
    "open comments in HTML": b"Content-Type: text/html\n\n" + b"<!--" * 300_000,
    "open tags in HTML": b"Content-Type: text/html\n\n" + b"<a href=" * 200_000,
    "deep HTML": b"Content-Type: text/html\n\n" + b"<blockquote><ul><li>" * 30_000,
    "entities in HTML": b"Content-Type: text/html\n\n" + b"&#x41;&amp" * 100_000,
    "one long line": b"\n" + b"x" * 2_000_000,
    "blank lines": b"From: a@b\n\n" + b"\n" * 500_000,
    "quote marks": b"\n" + b">" * 500_000,
    "quoted lines": b"\nOn Monday 1, Bob wrote:\n" + b"> a\nb:\n" * 60_000,
    "doctest prompts": b"\n" + b">>> x\ny\n" * 60_000,
    "rules": b"\n" + b"____________________\n" * 50_000 + b"mailing list",
    "unsubscribe lines": b"\n" + b"To unsubscribe\nx\n" * 20_000,
    "signature marks": b"\n" + b"-- \n" * 100_000,
    "PGP": b"\n" + b"-----BEGIN PGP SIGNATURE-----\n" * 20_000,
    "From headers": b"\n" + b"From: x\n" * 60_000,
    "RFCs": b"\n" + b"RFC 1" * 80_000,
    "RFC lists": b"\nRFCs 100" + b", 200" * 80_000,
    "drafts": b"\n" + b"draft-a-" * 60_000,
    "one endless draft": b"\ndraft" + b"-a" * 200_000,
    "flowed": b"Content-Type: text/plain; format=flowed\n\n" + b"a \n" * 150_000,
    "base64 line by line": b"Content-Transfer-Encoding: base64\n\n" + b"QUJD\n" * 100_000 + b"!",
    "quoted-printable": b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * 500_000,
    "blanks in quoted-printable": b"Content-Transfer-Encoding: quoted-printable\n\n" + SPREAD * 1000,
    "eight bits": b"Content-Type: text/plain\n\n" + bytes(range(128, 256)) * 4000,
    "UTF-7": b"Content-Type: text/plain; charset=utf-7\n\n" + b"+" * 300_000,
    "date": b"Date: " + b"Mon " * 50_000 + b"\n\nx",
    "escaped From": b"\n" + b">" * 300_000 + b"From x",
    "dashes only": b"\n" + b"--\n" * 100_000,
    "dashes and some lines": b"\n" + (b"--\n" + b"a\n" * 7) * 10_000,
    "bad headers between good ones": b"bad line\nX: y\n" * 40_000 + b"\nx",
    "a codec that unpacks": b"Content-Type: text/plain; charset=zlib\n\n" + zlib.compress(b"A" * 50_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_mail_costs_little(name: str) -> None:
    """Quadratic work would take minutes, so one second of CPU is a generous limit."""
    start = time.process_time()
    message = parse_message(HOSTILE[name])
    assert time.process_time() - start < 3
    assert len(message.references) <= Limits().references
    assert len(message.body_raw) <= Limits().body_chars + 100_000
    check(message)


def test_hostile_archives_cost_little() -> None:
    start = time.process_time()
    for filler in (
        b"\nFrom ",
        b"\nFrom x 10:00 2024",
        b"\n>From ",
        b"From: x\n",
        b"\nFrom x 10:00 2024\nX: y\n",
    ):
        list(parse_archive(io.BytesIO(b"From x Mon Feb  5 10:00:00 2024\nX: y\n" + filler * 15_000)))
    assert time.process_time() - start < 10


@pytest.mark.slow
def test_a_coverage_guided_fuzzer_finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="install the fuzz extra")
    for number, case in enumerate(CASES):
        (tmp_path / str(number)).write_bytes(b"From x Mon Feb  5 10:00:00 2024\n" + case.mail)
    command = [
        sys.executable,
        "-m",
        "tests.mail.fuzz_target",
        "-max_total_time=45",
        "-max_len=4096",
        "-timeout=10",
    ]
    limits = ["-rss_limit_mb=1024", f"-artifact_prefix={tmp_path}/", str(tmp_path)]
    done = subprocess.run([*command, *limits], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
