"""Forms with a file."""

import pytest

from web.forms import form_parts, parameter
from web.problems import Problem

TYPE = 'multipart/form-data; boundary="a b"'


def form(*parts: tuple[str, bytes], boundary: bytes = b"a b") -> bytes:
    body = b"".join(
        b"--"
        + boundary
        + b"\r\nContent-Disposition: form-data; "
        + about.encode()
        + b"\r\n\r\n"
        + content
        + b"\r\n"
        for about, content in parts
    )
    return body + b"--" + boundary + b"--\r\n"


def test_the_parts_come_with_their_names_and_exact_bytes() -> None:
    content = b"\r\n--a c\r\n\x00\xff--a b not alone\r\n"
    parts = form_parts(TYPE, form(('name="source"', b"quic"), ('name="file"; filename="x.mbox"', content)))
    assert [(part.name, part.filename, bytes(part.content)) for part in parts] == [
        ("source", None, b"quic"),
        ("file", "x.mbox", content),
    ]


def test_a_preamble_is_passed_over() -> None:
    parts = form_parts(TYPE, b"hello\r\n" + form(('name="a"', b"1")))
    assert [bytes(part.content) for part in parts] == [b"1"]


@pytest.mark.parametrize(
    "body", [b"", b"--a b--\r\n", b"no boundary anywhere", b"--a b", b"--a c\r\n\r\n--a c--"]
)
def test_a_form_without_parts_has_none(body: bytes) -> None:
    assert form_parts(TYPE, body) == []


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", form(('name="a"', b"1"))),
        ("multipart/form-data; boundary=" + "x" * 71, b""),
        (TYPE, form(('name="a"', b"1"))[:-15]),
        (TYPE, b"--a b\r\nno blank line\r\n--a b--\r\n"),
    ],
)
def test_a_broken_form_is_a_problem(content_type: str, body: bytes) -> None:
    with pytest.raises(Problem) as raised:
        form_parts(content_type, body)
    assert raised.value.status == 400


def test_the_number_of_parts_is_bounded() -> None:
    assert len(form_parts(TYPE, form(*[('name="a"', b"1")] * 1000))) == 20


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('attachment; filename="a b.mbox"', "a b.mbox"),
        ("attachment; filename=plain.mbox", "plain.mbox"),
        ("attachment; filename*=utf-8''%C3%BCber.mbox", "über.mbox"),
        ("attachment", None),
        ("", None),
    ],
)
def test_a_file_name_is_read_in_either_coding(header: str, expected: str | None) -> None:
    assert parameter(header, "filename") == expected
