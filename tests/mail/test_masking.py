"""Masked addresses: every spelling is masked in its length, and nothing else is."""

import json
import time

import pytest

from shared.mail.masking import addresses_in, mask_addresses, mask_json, masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bob@example.org", "b**@example.org"),
        ("On Monday, Bob <bob.b+x@example.org> wrote:", "On Monday, Bob <b******@example.org> wrote:"),
        ("x@example.org", "*@example.org"),
        ("mailto:bob@example.org?subject=x", "mailto:b**@example.org?subject=x"),
        ("/search?sender=bob%40example.org&q=x", "/search?sender=b**%40example.org&q=x"),
        ("a@x.org,bob@y.org;cy@z.org", "*@x.org,b**@y.org;c*@z.org"),
        ("jörg@exämple.de", "j***@exämple.de"),
        ("b**@example.org", "b**@example.org"),
        ("(bob@sub.example.org)", "(b**@sub.example.org)"),
        ("&lt;bob@example.org&gt;", "&lt;b**@example.org&gt;"),
        ('"bob@example.org"', '"b**@example.org"'),
        # Text without addresses
        ("@@ -1,2 +3,4 @@", "@@ -1,2 +3,4 @@"),
        ("HEAD@{1} and @decorator.name", "HEAD@{1} and @decorator.name"),
        ("five @ example.org", "five @ example.org"),
        ('href="/m/abc.1@host.example?list=x"', 'href="/m/abc.1@host.example?list=x"'),
        ("https://lore.example/git/abc@host.example/", "https://lore.example/git/abc@host.example/"),
        ("https://app.example/m/a%3Db@host.example", "https://app.example/m/a%3Db@host.example"),
        ("/m/a%3Db/c@host.example", "/m/a%3Db/c@host.example"),
        # Links that only resemble a link to a message
        ("https://l.example/mailman/options/x/bob@e.org", "https://l.example/mailman/options/x/b**@e.org"),
        ("https://l.example/?who=bob@e.org", "https://l.example/?who=b**@e.org"),
        ("/people/bob@example.org", "/people/b**@example.org"),
        ("http://bob@evil.example/", "http://b**@evil.example/"),
    ],
)
def test_an_address_is_masked_wherever_it_stands(text: str, shown: str) -> None:
    assert mask_addresses(text) == shown
    assert len(shown) == len(text)


def test_an_address_that_the_caller_gave_stays() -> None:
    known = addresses_in([" Bob@example.org", "a word"])
    assert mask_addresses("bob@example.org or bobby@example.org.", known) == (
        "bob@example.org or b****@example.org."
    )


def test_people_with_one_beginning_are_told_apart_by_their_domain() -> None:
    assert masked("bob@example.org") == "b**@example.org"
    assert masked("no address") == "n*********"


def test_json_keeps_ids_of_messages_and_links() -> None:
    given = {
        "message_id": "<a@host.example>",
        "references": ["<a@host.example>"],
        "from": {"name": "bob@example.org", "email": "bob@local"},
        "text": "ask bob@example.org\nor \u00e4b@example.org",
        "links": {"page": "/m/a@host.example"},
        "items": [{"spoken": ["bob@example.org"], "count": 1, "none": None}],
    }
    shown = mask_json(given)
    assert shown["message_id"] == given["message_id"]
    assert shown["references"] == given["references"]
    assert shown["links"] == given["links"]
    assert shown["from"] == {"name": "b**@example.org", "email": "b**@local"}
    assert shown["text"] == "ask b**@example.org\nor \u00e4*@example.org"
    assert shown["items"] == [{"spoken": ["b**@example.org"], "count": 1, "none": None}]
    json.loads(json.dumps(shown))


def test_long_text_takes_time_by_its_length() -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        mask_addresses(text)
        return time.process_time() - started

    hostile = ["a" * 200_000, "a@" * 100_000, "/" * 100_000 + "a@b.c", "%40" * 60_000, "a@b.c/" * 40_000]
    assert max(map(seconds, hostile)) < 2
