"""Difficult messages, written by us, and the expected results.

Each case is a message and the fields to check. Fields: see `test_hard_mails.py`.
"""

# ruff: noqa: RUF001 -- a table with a mail a line, in many scripts

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.mail.models import ParsedAddress

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    name: str
    mail: bytes
    expected: dict[str, Any]


def mail(*headers: str, body: str = "Text.\n", charset: str = "utf-8") -> bytes:
    """Build a message with these headers, and add missing headers that every message needs."""
    names = {header.split(":", 1)[0].lower() for header in headers}
    defaults = [
        header
        for header in (
            "From: Ann Example <ann@example.org>",
            "Date: Mon, 5 Feb 2024 10:00:00 +0000",
            "Message-ID: <1@example.org>",
            "Subject: A subject",
        )
        if header.split(":", 1)[0].lower() not in names
    ]
    return "\n".join([*defaults, *headers, "", body]).encode(charset)


def multipart(
    kind: str, *parts: str, boundary: str = "=_b", closed: bool = True, body_type: str = ""
) -> bytes:
    content = "".join(f"--{boundary}\n{part}\n" for part in parts) + (f"--{boundary}--\n" if closed else "")
    return mail(body_type or f'Content-Type: multipart/{kind}; boundary="{boundary}"', body=content)


PLAIN = "Content-Type: text/plain; charset=utf-8\n\n"
HTML = "Content-Type: text/html; charset=utf-8\n\n"
NOON = datetime(2024, 2, 5, 12, 0, tzinfo=UTC)

HEADERS = [
    Case("name with a comma in quotes", mail('From: "Smith, John" <js@example.org>'), {"sender": ParsedAddress("Smith, John", "js@example.org")}),
    Case("name with a comma without quotes", mail("From: Smith, John <js@example.org>"), {"sender": ParsedAddress("Smith, John", "js@example.org")}),
    Case("name in a comment", mail("From: alan@example.org (Alan Cox)"), {"sender": ParsedAddress("Alan Cox", "alan@example.org")}),
    Case("name in a nested comment", mail("From: alan@example.org (Alan (the one) Cox)"), {"sender": ParsedAddress("Alan (the one) Cox", "alan@example.org")}),
    Case("obfuscated address", mail("From: jjl at example.org (John Lee)"), {"sender": ParsedAddress("John Lee", "jjl@example.org")}),
    Case("obfuscated address in brackets", mail("From: John <john [at] example [dot] org>"), {"sender": ParsedAddress("John", "john@example.org")}),
    Case("escaped quotes in a name", mail(r'From: "Ann \"The\" Example" <a@example.org>'), {"sender": ParsedAddress('Ann "The" Example', "a@example.org")}),
    Case("apostrophes around a name", mail("From: 'Ann Example' <a@example.org>"), {"sender": ParsedAddress("Ann Example", "a@example.org")}),
    Case("domain in capitals", mail("From: Tom <Tom.T@EXAMPLE.ORG>"), {"sender": ParsedAddress("Tom", "Tom.T@example.org")}),
    Case("encoded name", mail("From: =?utf-8?q?Tomas_Toftg=C3=A5rd?= <t@example.org>"), {"sender": ParsedAddress("Tomas Toftgård", "t@example.org")}),
    Case("encoded name with a comma in it", mail("From: =?utf-8?q?Smith=2C_J=C3=B6rg?= <j@example.org>, b@example.org"), {"sender": ParsedAddress("Smith, Jörg", "j@example.org")}),
    Case("name of raw UTF-8", mail("From: Jörg <j@example.org>"), {"sender": ParsedAddress("Jörg", "j@example.org")}),
    Case("name of raw Latin-1", mail("From: Jörg Müller <j@example.org>", charset="latin-1"), {"sender": ParsedAddress("Jörg Müller", "j@example.org"), "warns": "raw-8bit-header"}),
    Case("group with members", mail("To: Friends: a@example.org, Bob <b@example.org>;"), {"to": [ParsedAddress("", "a@example.org"), ParsedAddress("Bob", "b@example.org")]}),
    Case("empty group", mail("To: undisclosed-recipients:;"), {"to": []}),
    Case("recipients separated by semicolons", mail("To: A <a@example.org>; B <b@example.org>"), {"to": [ParsedAddress("A", "a@example.org"), ParsedAddress("B", "b@example.org")]}),
    Case("two Cc fields", mail("Cc: a@example.org", "CC: b@example.org"), {"cc": [ParsedAddress("", "a@example.org"), ParsedAddress("", "b@example.org")]}),
    Case("no From but a Sender", b"Sender: list@example.org\nMessage-ID: <1@x>\n\nText.\n", {"sender": ParsedAddress("", "list@example.org")}),
    Case("nothing but a body after a blank line", b"\nJust text.\n", {"new": "Just text.", "warns": "missing-sender", "message_id": None}),
    Case("folded message id", mail("Message-ID:\n <very.long.id@\n example.org>"), {"message_id": "<very.long.id@example.org>"}),
    Case("message id without brackets", mail("Message-ID: 42@example.org"), {"message_id": "<42@example.org>"} ),
    Case("empty message id", mail("Message-ID: <>"), {"message_id": None, "warns": "missing-message-id"}),
    Case("references folded within an id", mail("References: <a@x> <b\n\t@y>\n <c@z>"), {"references": ["<a@x>", "<b@y>", "<c@z>"]}),
    Case("references separated by commas", mail("References: <a@x>,<b@y>"), {"references": ["<a@x>", "<b@y>"]} ),
    Case("references without any space", mail("References: <a@x><b@y>"), {"references": ["<a@x>", "<b@y>"]}),
    Case("references that repeat", mail("References: <a@x> <b@y> <a@x>"), {"references": ["<a@x>", "<b@y>"]}),
    Case("comment in In-Reply-To", mail('In-Reply-To: <a@x> (Ann\'s message of "Wed, 06 Dec\n 2023 16:37:23 -0600")'), {"in_reply_to": ["<a@x>"]}),
    Case("prose in In-Reply-To", mail('In-Reply-To: Your message of "Tue, 5 Nov 1996" <a@x>'), {"in_reply_to": ["<a@x>"]}),
    Case("address in In-Reply-To", mail("In-Reply-To: Message from Bob <bob@example.org> of Tuesday <a@x>", "To: bob@example.org"), {"in_reply_to": ["<a@x>"]}),
    Case("In-Reply-To is only the sender's address", mail("In-Reply-To: <bob@example.org>", "To: Bob <bob@example.org>"), {"in_reply_to": []}),
    Case("several parents", mail("In-Reply-To: <a@x> <b@y>"), {"in_reply_to": ["<a@x>", "<b@y>"]}),
    Case("subject cut within a character", mail("Subject: =?utf-8?b?w6TDtsO8w?= =?utf-8?b?58=?="), {"subject_starts": "äöü"}),
    Case("subject of adjacent encoded words", mail("Subject: =?utf-8?q?caf=C3?=\n =?utf-8?q?=A9_au_lait?="), {"subject": "café au lait"}),
    Case("subject with spaces inside an encoded word", mail("Subject: =?iso-8859-1?Q?caf=E9 au lait?="), {"subject": "café au lait"}),
    Case("subject with a language", mail("Subject: =?utf-8*en?q?caf=C3=A9?="), {"subject": "café"}),
    Case("subject in an unknown charset", mail("Subject: =?x-made-up?q?caf=C3=A9?="), {"subject": "café"}),
    Case("subject in Shift JIS", mail("Subject: =?shift_jis?b?k/qWe4zq?="), {"subject": "日本語"}),
    Case("subject that only looks encoded", mail("Subject: what =?is this?="), {"subject": "what =?is this?="} ),
    Case("folded subject", mail("Subject: one\n\ttwo\n three"), {"subject": "one two three"}),
    Case("malformed line among the headers", mail("X-One: 1", "this is no header", "Subject: Kept"), {"subject": "Kept", "warns": "malformed-header"}),
    Case("no blank line before the body", b"From: a@example.org\nMessage-ID: <1@x>\nThis is the body\nand more.\n", {"new": "This is the body\nand more.", "warns": "missing-blank-line"}),
    Case("header in any case", b"FROM: a@example.org\nMESSAGE-id: <1@x>\nsubject: s\n\nt\n", {"subject": "s", "message_id": "<1@x>"}),
    Case("space before the colon", b"From : a@example.org\nMessage-ID : <1@x>\nSubject : s\n\nt\n", {"subject": "s", "message_id": "<1@x>"}),
]  # fmt: skip

DATES = [
    Case("standard date", mail("Date: Mon, 5 Feb 2024 13:00:00 +0100"), {"date": NOON}),
    Case("date with a comment", mail("Date: Mon, 05 Feb 2024 04:00:00 -0800 (PST)"), {"date": NOON}),
    Case("two-digit year", mail("Date: Fri, 09 Sep 94 15:33:46 -0400"), {"date": datetime(1994, 9, 9, 19, 33, 46, tzinfo=UTC)}),
    Case("named zone", mail("Date: 5 Feb 2024 07:00 EST"), {"date": NOON}),
    Case("asctime date", mail("Date: Mon Feb  5 12:00:00 2024"), {"date": NOON}),
    Case("ISO date", mail("Date: 2024-02-05T13:00:00+01:00"), {"date": NOON}),
    Case("German date", mail("Date: Mo, 5 Feb 2024 13:00:00 +0100"), {"date": NOON}),
    Case("impossible offset", mail("Date: Mon, 5 Feb 2024 12:00:00 +9999"), {"date": NOON}),
    Case("leap second", mail("Date: Sat, 31 Dec 2016 23:59:60 +0000"), {"date": datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)}),
    Case("year counted from 1900", mail("Date: Mon, 5 Feb 124 12:00:00 +0000"), {"date": NOON}),
    Case("day that does not exist", mail("Date: Sat, 31 Feb 2024 12:00:00 +0000"), {"date": None, "warns": "bad-date:none"}),
    Case("rubbish, but a Received", mail("Date: soon", "Received: from a by b; Mon, 5 Feb 2024 13:00:00 +0100"), {"date": NOON, "warns": "bad-date:from-received"}),
    Case("no date at all", b"From: a@example.org\nMessage-ID: <1@x>\n\nt\n", {"date": None, "warns": "missing-date:none"}),
]  # fmt: skip

FOOTER = "_______________________________________________\nquic mailing list\nquic@example.org\nhttps://example.org/mailman/listinfo/quic\n"
BASE64 = base64.encodebytes("Schöne Grüße.\n".encode()).decode()

DECODING = [
    Case("quoted-printable", mail("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", body="caf=C3=A9 =\nau lait\n"), {"new": "café au lait"}),
    Case("quoted-printable with blanks at a soft break", mail("Content-Transfer-Encoding: quoted-printable", body="one =  \ntwo\n"), {"new": "one two"}),
    Case("broken quoted-printable", mail("Content-Transfer-Encoding: quoted-printable", body="a=zz b=4\n"), {"new": "a=zz b=4"}),
    Case("base64", mail("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", body=BASE64), {"new": "Schöne Grüße."}),
    Case("base64 in an unknown charset", mail("Content-Type: text/plain; charset=x-unheard-of", "Content-Transfer-Encoding: base64", body=BASE64), {"new": "Schöne Grüße.", "warns": "unknown-charset:x-unheard-of"}),
    Case("base64 without its padding", mail("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", body=BASE64.replace("=", "")), {"new": "Schöne Grüße."}),
    Case("base64 and a list footer", mail("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", body=BASE64 + FOOTER), {"new": "Schöne Grüße.", "kinds": ["new", "footer"], "warns": "text-after-base64"}),
    Case("declared base64, is plain", mail("Content-Transfer-Encoding: base64", body="This is plainly not base64!\n"), {"new": "This is plainly not base64!", "warns": "not-base64"}),
    Case("encoding with a parameter", mail("Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: BASE64; really", body=BASE64), {"new": "Schöne Grüße."}),
    Case("unknown transfer encoding", mail("Content-Transfer-Encoding: x-secret", body="As it is.\n"), {"new": "As it is.", "warns": "unknown-transfer-encoding:x-secret"}),
    Case("uuencode", mail("Content-Transfer-Encoding: x-uuencode", body="begin 644 a.txt\n&:&5L;&\\*\n`\nend\n"), {"new": "hello"}),
    Case("UTF-8 declared as Latin-1", mail("Content-Type: text/plain; charset=iso-8859-1", body="Ivan Balás\n"), {"new": "Ivan Balás", "warns": "charset-mismatch:iso-8859-1"}),
    Case("Windows quotes declared as Latin-1", mail("Content-Type: text/plain; charset=iso-8859-1", body="“so”\n", charset="cp1252"), {"new": "“so”"}),
    Case("eight bits without a charset", mail("Content-Type: text/plain", body="Größe und Übermut, schön für alle Männer.\n", charset="latin-1"), {"raw_has": "Größe", "warns": "undeclared-charset"}),
    Case("eight bits declared as ASCII", mail("Content-Type: text/plain; charset=us-ascii", body="Größe\n"), {"new": "Größe"}),
    Case("Korean", mail("Content-Type: text/plain; charset=ks_c_5601-1987", body="안녕하세요\n", charset="cp949"), {"new": "안녕하세요"}),
    Case("GB2312 with characters beyond it", mail("Content-Type: text/plain; charset=gb2312", body="朱镕基\n", charset="gb18030"), {"new": "朱镕基"}),
    Case("ISO-2022-JP", mail("Content-Type: text/plain; charset=iso-2022-jp", body="日本語\n", charset="iso-2022-jp"), {"new": "日本語"}),
    Case("KOI8-R", mail("Content-Type: text/plain; charset=koi8-r", body="Привет, мир\n", charset="koi8-r"), {"new": "Привет, мир"}),
    Case("UTF-7", mail("Content-Type: text/plain; charset=utf-7", body="caf+AOk-\n"), {"new": "café"}),
    Case("UTF-16", b"From: a@x\nMessage-ID: <1@x>\nContent-Type: text/plain; charset=utf-16\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes("Grüße".encode("utf-16")), {"new": "Grüße"}),
    Case("charset in quotes and capitals", mail("Content-Type: TEXT/PLAIN; CHARSET='UTF-8'", body="é\n"), {"new": "é"}),
    Case("a charset that is no text codec", mail("Content-Type: text/plain; charset=zlib", body="é\n"), {"new": "é", "warns": "unknown-charset:zlib"}),
    Case("broken UTF-8", mail("Content-Type: text/plain; charset=utf-8").replace(b"Text.", b"\xc3\xa9 \xc3( ok"), {"raw_has": "é \ufffd( ok"}),
    Case("NUL in the body", mail(body="a\x00b\n"), {"raw_has": "a\ufffdb"}),
    Case("Windows line ends", mail(body="One.\n\n> quoted\n\nTwo.\n").replace(b"\n", b"\r\n"), {"new": "One.\n\nTwo.", "kinds": ["new", "quote", "new"]}),
    Case("old Mac line ends", mail("Content-Type: text/plain", body="One.\rTwo.\r"), {"new": "One.\nTwo."}),
    Case("format=flowed", mail("Content-Type: text/plain; format=flowed", body="A long \nline.\n> quoted \n> text\n From here\n-- \nAnn\n"), {"raw_has": "A long line.\n> quoted text\nFrom here\n-- \nAnn", "kinds": ["new", "quote", "new", "signature"]}),
    Case("format=flowed with delsp", mail("Content-Type: text/plain; format=flowed; delsp=yes", body="日本 \n語\n"), {"new": "日本語"}),
]  # fmt: skip

STRUCTURE = [
    Case("alternative prefers plain", multipart("alternative", PLAIN + "Plain.", HTML + "<p>Rich.</p>"), {"new": "Plain.", "html_has": "Rich."}),
    Case("alternative with an empty plain part", multipart("alternative", PLAIN + " ", HTML + "<p>Rich.</p>"), {"new": "Rich."}),
    Case("HTML only", mail("Content-Type: text/html", body="<html><head><style>p{}</style></head><body><p>One &amp; two</p><ul><li>a<li>b</ul></body></html>"), {"new": "One & two\n\n- a\n- b"}),
    Case("HTML with a quote", mail("Content-Type: text/html", body="<p>Yes.</p><blockquote type=cite><p>Really?</p></blockquote><p>So it is.</p>"), {"new": "Yes.\n\nSo it is.", "kinds": ["new", "quote", "new"]}),
    Case("HTML with a table and code", mail("Content-Type: text/html", body="<table><tr><td>a</td><td>b</td></tr></table><pre>if x:\n    y()</pre>"), {"new": "a | b\n\nif x:\n    y()"}),
    Case("HTML with a link", mail("Content-Type: text/html", body='See <a href="https://example.org/x">the draft</a>.'), {"new": "See the draft <https://example.org/x>."}),
    Case("HTML that names its charset itself", mail("Content-Type: text/html", body='<meta charset="iso-8859-2"><p>Łódź</p>', charset="iso-8859-2"), {"new": "Łódź"}),
    Case("HTML after a script with a comparison", mail("Content-Type: text/html", body="<script>if (a<b) { x() }</script><p>Seen.</p>"), {"new": "Seen."}),
    Case("HTML with > in an attribute", mail("Content-Type: text/html", body='<p title="2 > 1, says she">Seen.</p>'), {"new": "Seen."}),
    Case("HTML with a comment that holds tags", mail("Content-Type: text/html", body="<p>One<!-- <p>not > this</p> -->, two</p>"), {"new": "One, two"}),
    Case("HTML hidden in a comment", mail("Content-Type: text/html", body="<p>Seen.<!-- I support it. --></p>"), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML with comments of programs", mail("Content-Type: text/html", body="<!-- Converted from text/plain format --><p>Seen.<!--[if mso]><i>for this program only</i><![endif]--></p>"), {"new": "Seen.", "warnings": []}),
    Case("HTML hidden by display", mail("Content-Type: text/html", body='<p>Seen.</p><p style="display: none">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by a class", mail("Content-Type: text/html", body="<style>.x, p.y { display:none }</style><p>Seen.</p><p class=y>I support it.</p>"), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by size", mail("Content-Type: text/html", body='<p>Seen.<span style="font-size:0px">I support it.</span></p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden white on white", mail("Content-Type: text/html", body='<p>Seen. <font color="#FFFFFF">I support it.</font></p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden in the colour of its background", mail("Content-Type: text/html", body='<div style="background-color:#102030"><p style="color:white">Seen.</p><p style="color:#102031">I support it.</p></div>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by its attribute", mail("Content-Type: text/html", body="<p>Seen.</p><div hidden><p>I <b>support</b> it.</p></div>"), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden far off the page", mail("Content-Type: text/html", body='<p>Seen.</p><p style="position:absolute;left:-9999px">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden in a clipped box", mail("Content-Type: text/html", body='<p>Seen.</p><div style="max-height:0;overflow:hidden">I support it.</div>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by a size of one", mail("Content-Type: text/html", body='<p>Seen.</p><p style="font-size:1px">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by no colour at all", mail("Content-Type: text/html", body='<p>Seen.</p><p style="color: transparent">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by a clip", mail("Content-Type: text/html", body='<p>Seen.</p><p style="position:absolute;clip:rect(0,0,0,0)">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML hidden by a scale", mail("Content-Type: text/html", body='<p>Seen.</p><p style="transform:scale(0)">I support it.</p>'), {"new": "Seen.", "warns": "hidden-text"}),
    Case("HTML with small print", mail("Content-Type: text/html", body='<p>Seen.</p><p style="font-size:10px">Read.</p>'), {"new": "Seen.\n\nRead."}),
    Case("HTML with light text on a dark ground", mail("Content-Type: text/html", body='<table bgcolor="#000000"><tr><td><font color="white">Seen.</font></td></tr></table>'), {"new": "Seen.", "warnings": []}),
    Case("HTML with a zero-height box that overflows", mail("Content-Type: text/html", body='<p style="height:0">Seen.</p>'), {"new": "Seen.", "warnings": []}),
    Case("HTML that is broken", mail("Content-Type: text/html", body="<p>One<div>two</p></span> 1 < 2 <b>three"), {"new": "One\n\ntwo\n\n1 < 2 three"}),
    Case("nested multiparts", multipart("mixed", 'Content-Type: multipart/alternative; boundary="in"\n\n--in\n' + PLAIN + "Inner.\n--in\n" + HTML + "<p>No</p>\n--in--\n", PLAIN + "After."), {"new": "Inner.\nAfter."}),
    Case("inner boundary that extends the outer one", multipart("mixed", 'Content-Type: multipart/mixed; boundary="=_b2"\n\n--=_b2\n' + PLAIN + "Inner.\n--=_b2--\n", PLAIN + "Outer."), {"new": "Inner.\nOuter."}),
    Case("missing closing boundary", multipart("mixed", PLAIN + "Text.", closed=False), {"new": "Text."}),
    Case("multipart without a boundary", multipart("mixed", PLAIN + "Text.", body_type="Content-Type: multipart/mixed"), {"raw_has": "Text.", "warns": "multipart-without-parts"}),
    Case("boundary that never comes", multipart("mixed", PLAIN + "Text.", body_type="Content-Type: multipart/mixed; boundary=other"), {"raw_has": "Text.", "warns": "multipart-without-parts"}),
    Case("attachment with an RFC 2231 name", multipart("mixed", PLAIN + "See.", "Content-Type: application/pdf\nContent-Disposition: attachment;\n filename*0*=utf-8''na%C3%AFve;\n filename*1=.pdf\nContent-Transfer-Encoding: base64\n\nAAAA"), {"new": "See.", "attachments": [("naïve.pdf", "application/pdf", 3)]}),
    Case("attachment with an encoded name", multipart("mixed", PLAIN + "See.", 'Content-Type: image/png; name="=?utf-8?q?=C3=A9.png?="\n\nx'), {"attachments": [("é.png", "image/png", 1)]}),
    Case("signed mail", multipart("signed", PLAIN + "Signed.", "Content-Type: application/pgp-signature; name=signature.asc\n\nabc"), {"new": "Signed.", "attachments": [("signature.asc", "application/pgp-signature", 3)]}),
    Case("inline patch is text", multipart("mixed", PLAIN + "Patch:", "Content-Type: text/x-patch; name=a.patch\nContent-Disposition: inline\n\n+new\n-old"), {"new": "Patch:\n+new\n-old"}),
    Case("attached message is a quote", multipart("mixed", PLAIN + "Forwarding.", "Content-Type: message/rfc822\n\nSubject: Inner\nFrom: b@example.org\n\nInner text."), {"new": "Forwarding.", "raw_has": "Inner text.", "kinds": ["new", "quote"]}),
    Case("digest of messages", multipart("digest", "\nSubject: One\n\nFirst.", "\nSubject: Two\n\nSecond."), {"raw_has": "Second.", "kinds": ["quote"]}),
    Case("footer in a part of its own", multipart("mixed", PLAIN + "Text.", PLAIN + FOOTER), {"new": "Text.", "kinds": ["new", "footer"]}),
    Case("footer after the last boundary", multipart("mixed", PLAIN + "Text.") + FOOTER.encode(), {"new": "Text.", "kinds": ["new", "footer"]}),
    Case("calendar is an attachment", multipart("mixed", PLAIN + "Come.", "Content-Type: text/calendar; name=i.ics\n\nBEGIN:VCALENDAR"), {"new": "Come.", "attachments": [("i.ics", "text/calendar", 15)]}),
    Case("content type without a subtype", mail("Content-Type: text", body="Fine.\n"), {"new": "Fine."}),
]  # fmt: skip

BODIES = [
    Case("interleaved reply", mail(body="On Mon, 5 Feb 2024, Bob wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n"), {"new": "Yes.\n\nNo.", "kinds": ["attribution", "quote", "new", "quote", "new"]}),
    Case("top-posted reply", mail(body="I agree.\n\nOn Mon, 5 Feb 2024 at 10:00, Bob <bob@example.org> wrote:\n> Text\n> more\n"), {"new": "I agree.", "kinds": ["new", "attribution", "quote"]}),
    Case("attribution over two lines", mail(body="Fine.\n\nOn Fri, Dec 8, 2023 at 4:35 PM Taylor Example\n<taylor@example.org> wrote:\n\n> Text\n"), {"new": "Fine.", "kinds": ["new", "attribution", "quote"]}),
    Case("German attribution", mail(body="Ja.\n\nAm 5. Februar 2024 um 10:00 schrieb Bob <b@example.org>:\n> Text\n"), {"new": "Ja."}),
    Case("French attribution", mail(body="Oui.\n\nLe lun. 5 févr. 2024 à 10:00, Bob <b@example.org> a écrit :\n> Texte\n"), {"new": "Oui."}),
    Case("Spanish attribution", mail(body="Sí.\n\nEl lun, 5 feb 2024 a las 10:00, Bob (<b@example.org>) escribió:\n> Texto\n"), {"new": "Sí."}),
    Case("Chinese attribution", mail(body="好\n\nBob <b@example.org> 于2024年2月5日周一 10:00写道：\n> 文\n"), {"new": "好"}),
    Case("colon before a quote is no attribution", mail(body="The text says:\n> MUST\nand that is wrong.\n"), {"new": "The text says:\n\nand that is wrong."}),
    Case("Outlook quote", mail(body="Agreed.\n\n-----Original Message-----\nFrom: Bob <b@example.org>\nSent: Monday\nTo: Ann\nSubject: RE: x\n\nOld text.\n"), {"new": "Agreed.", "kinds": ["new", "attribution", "quote"], "raw_has": "Old text."}),
    Case("Outlook quote without a rule", mail(body="Agreed.\n\nFrom: Bob <b@example.org>\nSent: Monday, 5 February 2024 10:00\nTo: Ann\nSubject: RE: x\n\nOld text.\n"), {"new": "Agreed."}),
    Case("German Outlook quote", mail(body="Gut.\n\n________________________________\nVon: Bob <b@example.org>\nGesendet: Montag, 5. Februar 2024 10:00\nAn: Ann\nBetreff: AW: x\n\nAlter Text.\n"), {"new": "Gut."}),
    Case("Outlook rule over a marked quote", mail(body="-----Original Message-----\nFrom: Bob\nSent: Monday\nTo: Ann\nSubject: x\n\n> Old?\n\nMy answer.\n"), {"new": "My answer."}),
    Case("forwarded message", mail(body="FYI\n\n---------- Forwarded message ---------\nFrom: Bob <b@example.org>\nDate: Mon\nSubject: x\nTo: Ann\n\nOld.\n"), {"new": "FYI"}),
    Case("quotes marked by initials", mail(body="JL> One?\nJL> Two?\n\nYes.\n"), {"new": "Yes."}),
    Case("indented quotes", mail(body="Start\n > One\n > Two\nYes.\n"), {"new": "Start\n\nYes."}),
    Case("signature", mail(body="Text.\n\n-- \nAnn\nExample Inc.\n"), {"new": "Text.", "kinds": ["new", "signature"]}),
    Case("signature above a quote", mail(body="Yes.\n-- \nAnn\n\nOn Monday, Bob wrote:\n> Text\n"), {"new": "Yes.", "kinds": ["new", "signature", "attribution", "quote"]}),
    Case("mobile signature", mail(body="Yes.\n\nSent from my iPhone\n"), {"new": "Yes."}),
    Case("PGP armour", mail(body="-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nText.\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n"), {"new": "Text."}),
    Case("Mailman footer", mail(body="Text.\n\n" + FOOTER), {"new": "Text.", "kinds": ["new", "footer"]}),
    Case("signature and Mailman footer", mail(body="Text.\n-- \nAnn\n" + FOOTER), {"new": "Text.", "kinds": ["new", "signature", "footer"]}),
    Case("Google Groups footer", mail(body='Text.\n\n-- \nYou received this message because you are subscribed to the Google Groups "x" group.\nTo unsubscribe from this group and stop receiving emails from it, send an email to x+unsubscribe@example.org.\n'), {"new": "Text.", "kinds": ["new", "footer"]}),
    Case("attribution whose quote is snipped", mail(body="On Tue, Jan 2, 2024 at 5:02, Ben Example wrote:\n[snip]\n\nI see.\n"), {"new": "I see.", "kinds": ["attribution", "new"]}),
    Case("attribution in the middle whose quote is snipped", mail(body="First.\n\nOn Tue, Jan 2, 2024, Ben Example wrote:\n[...]\nThen.\n"), {"new": "First.\n\nThen."}),
    Case("attribution without any quote", mail(body="Ben Example <ben@example.org> writes:\n\nJust this part.\n"), {"new": "Just this part.", "kinds": ["attribution", "new"]}),
    Case("a report of what somebody wrote", mail(body="As I wrote:\n\nWe need two more reviews.\n"), {"new": "As I wrote:\n\nWe need two more reviews."}),
    Case("vger footer", mail(body='Text.\n--\nTo unsubscribe from this list: send the line "unsubscribe git" in\nthe body of a message to majordomo@example.org\nMore majordomo info at  http://example.org/majordomo-info.html\n'), {"new": "Text.", "kinds": ["new", "footer"]}),
    Case("footer below a top-posted Outlook quote", mail(body="Yes.\n\n-----Original Message-----\nFrom: Bob\nSent: x\nTo: y\nSubject: z\n\nOld.\n" + FOOTER), {"new": "Yes.", "kinds": ["new", "attribution", "quote", "footer"]}),
    Case("talk about the mailing list is no footer", mail(body="The quic mailing list is busy.\n\nTo unsubscribe is easy, I think.\nReally.\n"), {"new_has": "busy"}),
    Case("doctest is kept", mail(body="Try this:\n\n>>> import math\n>>> math.pi\n3.14\n"), {"new": "Try this:\n\n>>> import math\n>>> math.pi\n3.14"}),
    Case("deep quote is no doctest", mail(body=">>> I think so.\n>> No.\n> Well.\n\nMe too.\n"), {"new": "Me too."}),
    Case("patch is kept", mail(body="Fix it.\n\n---\n a.c | 2 +-\n\ndiff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n-- \n-old\n+new\n@@ -9 +9 @@\n+x\n-- \n2.43.0\n"), {"new_has": "+x", "kinds": ["new", "signature"]}),
    Case("classic diff is kept", mail(body="Like so:\n\n3c3\n< old\n---\n> new\n"), {"new": "Like so:\n\n3c3\n< old\n---\n> new"}),
    Case("table is kept", mail(body="| a | b |\n|---|---|\n| 1 | 2 |\n"), {"new": "| a | b |\n|---|---|\n| 1 | 2 |"}),
    Case("code with indentation is kept", mail(body="    if (a > b)\n        return;\n"), {"new": "    if (a > b)\n        return;"}),
    Case("headers of a patch are no Outlook block", mail(body="From: Bob <b@example.org>\nDate: Mon, 5 Feb 2024 10:00:00 +0000\nSubject: [PATCH] x\n\nFix x.\n"), {"new_has": "Fix x.", "kinds": ["new"]}),
    Case("quotes only", mail(body="> One\n> Two\n"), {"new": "", "kinds": ["quote"]}),
    Case("empty body", mail(body=""), {"new": "", "kinds": []}),
]  # fmt: skip

MENTIONS = [
    Case("RFCs in subject and body", mail("Subject: RFC 0793 errata", body="See RFCs 2119 and 8174, RFC-9000, RFC 2119/8174.\n"), {"mentions": ["RFC793", "RFC2119", "RFC8174", "RFC9000"]}),
    Case("drafts with and without a version", mail("Subject: draft-ietf-quic-transport-34", body="Not draft-ietf-quic-http nor Draft-Smith-Foo-00.txt.\n"), {"mentions": ["draft-ietf-quic-transport-34", "draft-ietf-quic-http", "draft-smith-foo-00"]}),
    Case("draft wrapped over lines", mail(body="I read draft-ietf-quic-\ntransport-34 today, and RFC\n9000.\n"), {"mentions": ["draft-ietf-quic-transport-34", "RFC9000"]}),
    Case("BCP and STD", mail(body="BCP 14 (BCP14), STD0066, BCP 78/79.\n"), {"mentions": ["BCP14", "STD66", "BCP78", "BCP79"]}),
    Case("patch tags are no RFCs", mail("Subject: [RFC PATCH 1/3] x", body="[RFC 2/3] and [PATCH RFC 0/3]\n"), {"mentions": []}),
    Case("years are no RFCs", mail(body="RFC 2119, March 1997; RFC 8174, 2017.\n"), {"mentions": ["RFC2119", "RFC8174"]}),
    Case("an RFC in a draft's name is the draft", mail(body="draft-ietf-tls-rfc8446bis-09\n"), {"mentions": ["draft-ietf-tls-rfc8446bis-09"]}),
    Case("references in brackets", mail(body="[RFC9110] [I-D.ietf-httpbis-cache]\n"), {"mentions": ["RFC9110", "draft-ietf-httpbis-cache"]}),
    Case("mentions in a quote are the other's", mail(body="> RFC 1\n\nRFC 2 it is.\n"), {"mentions": ["RFC2"]}),
]  # fmt: skip

CASES = [*HEADERS, *DATES, *DECODING, *STRUCTURE, *BODIES, *MENTIONS]
