"""Text with a missing or wrong charset is decoded if possible."""

import pytest

from shared.mail.charsets import decode


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("café", "latin-1"),
        ("Grüße aus Köln", "latin-1"),
        ("“so”… naïve", "cp1252"),
        ("Привет, как дела? Всё хорошо.", "koi8-r"),
        ("Привет, как дела? Всё хорошо, спасибо большое", "cp1251"),
        ("日本語のメールです", "shift_jis"),
        ("日本語のメールです。よろしくお願いします", "euc-jp"),
        ("你好，这是一封邮件", "gb18030"),  # noqa: RUF001 -- Chinese has its own comma
        ("안녕하세요 여러분", "euc-kr"),
        ("Ελληνικά γράμματα εδώ", "iso-8859-7"),
        ("¿Qué? Ünïcödé", "utf-8"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("Příliš žluťoučký kůň", "cp1250"),
        ("Větší změny v příštím vydání", "iso-8859-2"),
        ("İstanbul'da güneşli bir gün", "cp1254"),
        ("שלום לכולם, מה שלומכם", "cp1255"),
        ("مرحبا بكم في القائمة", "cp1256"),
        ("สวัสดีครับ ทุกคน", "tis-620"),
        ("您好，這是一封郵件", "big5"),  # noqa: RUF001 -- Chinese has its own comma
        ("Ivan Balás wrote about señor Núñez", "latin-1"),
        ("I think Jörg is right: it's a “bad” idea – really", "cp1252"),  # noqa: RUF001 -- a dash
        ("Привет", "koi8-r"),
    ],
)
@pytest.mark.parametrize("declared", ["", "x-unknown", "unknown-8bit"])
def test_an_unknown_charset_is_detected(text: str, charset: str, declared: str) -> None:
    found, warning = decode(text.encode(charset), declared)
    assert found == text
    assert warning


def test_text_that_is_declared_rightly_brings_no_warning() -> None:
    for charset in ("utf-8", "koi8-r", "cp1251", "iso-8859-5"):
        assert decode("Привет".encode(charset), charset) == ("Привет", "")


def test_latin_text_declared_as_utf8_is_read_as_what_it_is() -> None:
    assert decode("Grüße".encode("latin-1"), "utf-8")[0] == "Grüße"


@pytest.mark.parametrize(
    "charset", ["idna", "punycode", "unicode_escape", "rot13", "hex", "undefined", "\x00", "a" * 500]
)
def test_what_is_no_charset_of_text_is_not_used_as_one(charset: str) -> None:
    assert decode("é".encode(), charset)[0] == "é"


@pytest.mark.parametrize("data", [b"\x00\xff" * 50, bytes(range(256)), b"\xed\xa0\x80", b"+2AA-"])
@pytest.mark.parametrize("charset", ["utf-7", "utf-8", "utf-16", "ascii", "gb2312", "iso-2022-jp", "hz", ""])
def test_whatever_comes_out_can_be_stored(data: bytes, charset: str) -> None:
    text, _ = decode(data, charset)
    assert "\x00" not in text
    text.encode("utf-8")
