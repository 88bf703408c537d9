"""Hostile titles stay inside their line, in the text, HTML and headers of a mail."""

from datetime import UTC, datetime

import pytest

from shared.models.reports import Cadence, Subscription, Topic, TopicKind
from shared.publishing.mails import (
    LinkPurpose,
    confirmation,
    digest,
    entries_of,
    is_signed,
    link_to,
    token_of,
)
from shared.settings.app import Settings, load_settings
from shared.settings.outgoing import is_address
from tests.settings.test_app import LOCAL

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOSTILE = "Vote\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>\u202eevil"


def mailing_settings() -> Settings:
    chosen = {
        "SMTP_URL": "smtp://127.0.0.1", "EMAIL_FROM": "d@lists.example.org",
        "EMAIL_SECRET": "s" * 16, "PUBLIC_URL": "https://lists.example.org/",
    }  # fmt: skip
    return load_settings({**LOCAL, **chosen})


def subscription(label: str = "") -> Subscription:
    return Subscription(
        id="a" * 32, address_key="b" * 32, address="r@example.org", created_at=NOW, asked_at=NOW, until=NOW,
        topic=Topic(kind=TopicKind.THREADS, name="c" * 16, label=label[:200]), cadence=Cadence.WEEKLY,
    )  # fmt: skip


def test_hostile_titles_stay_in_their_place() -> None:
    outcome = {"tier": "said", "sentence": HOSTILE}
    rows = [
        {"report_id": "rpt-1", "title": HOSTILE, "thread_id": "c" * 16, "outcome": outcome,
         "published_at": "2026-03-01T00:00:00Z"},
    ]  # fmt: skip
    entries = entries_of(rows, "https://lists.example.org/")
    settings = mailing_settings()
    for mail in (
        digest(settings, subscription(HOSTILE), entries, more=False),
        confirmation(settings, subscription(HOSTILE), NOW),
    ):
        raw = mail.as_bytes()
        assert b"\nBcc:" not in raw
        assert mail.keys().count("To") == 1
        rich = mail.get_body(("html",))
        assert rich is not None
        assert "<script" not in rich.get_content()
        assert "\u202e" not in rich.get_content()


def test_only_an_outcome_that_is_said_is_told() -> None:
    rows = [{"report_id": "rpt-1", "title": "T", "outcome": {"tier": "possible", "sentence": "Accepted by A"},
             "published_at": "2026-03-01T00:00:00Z"}]  # fmt: skip
    (entry,) = entries_of(rows, "https://lists.example.org")
    assert (entry.outcome, entry.address) == ("", "https://lists.example.org/reports/rpt-1")


def test_a_week_tells_the_outcomes_of_its_threads_what_is_new_first() -> None:
    def thread(name: str, read_at: str, tier: str = "said") -> dict[str, object]:
        outcome = {"tier": tier, "sentence": f"Accepted by {name}."}
        return {"thread_id": name * 16, "title": f"On {name}", "outcome": outcome, "read_at": read_at}

    old, new = "2026-02-01T00:00:00.000000Z", "2026-02-28T00:00:00.000000Z"
    threads = [thread("a", old), thread("b", new, "remark"), thread("c", new)]
    at = {"published_at": "2026-03-01T00:00:00Z"}
    rows: list[dict[str, object]] = [
        {"report_id": "rpt-1", "title": "Lunch", "thread_id": "d" * 16, **at},
        {"report_id": "rpt-2", "title": "Week 2026-W08 of tally", "threads": threads, **at},
    ]
    entries = entries_of(rows, "https://lists.example.org/", datetime(2026, 2, 15, tzinfo=UTC))
    assert [entry.title for entry in entries] == ["Week 2026-W08 of tally", "Lunch"]
    assert [one.title for one in entries[0].decided] == ["On c", "On a"]
    mail = digest(mailing_settings(), subscription(), entries, more=False)
    for kind in ("plain", "html"):
        body = mail.get_body((kind,))
        assert body is not None
        text = body.get_content()
        assert text.index("Accepted by c.") < text.index("Accepted by a.") < text.index("Lunch")
        assert "https://lists.example.org/threads/" + "c" * 16 in text
        assert "Accepted by b." not in text


def test_a_link_is_for_one_purpose_and_one_subscription() -> None:
    settings = mailing_settings()
    token = token_of(settings, "b" * 32, "a" * 32, LinkPurpose.CONFIRM)
    assert is_signed(settings, ("b" * 32, "a" * 32, token), LinkPurpose.CONFIRM)
    assert not is_signed(settings, ("b" * 32, "a" * 32, token), LinkPurpose.UNSUBSCRIBE)
    assert not is_signed(settings, ("b" * 32, "d" * 32, token), LinkPurpose.CONFIRM)
    assert not is_signed(settings, ("b" * 32, "a" * 32, "\ud800é"), LinkPurpose.CONFIRM)
    assert token in link_to(settings, subscription(), LinkPurpose.CONFIRM)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a@example.org", True), ("a.b+c@mail.example.org", True), ("a@localhost", False), ("a@@example.org", False),
        ("a@example.org\r\nBcc: x", False), ('"a b"@example.org', False), ("a@exämple.org", False),
        ("a@-x.org", False), (".a@example.org", False), (f"{'a' * 250}@x.org", False), ("A <a@example.org>", False),
    ],
)  # fmt: skip
def test_which_addresses_mail_is_sent_to(text: str, *, fits: bool) -> None:
    assert is_address(text) is fits


def test_a_thread_stands_once_in_a_mail() -> None:
    outcome = {"tier": "said", "sentence": "Accepted by Bo."}
    both, own = ({"thread_id": name * 16, "title": name, "outcome": outcome} for name in "ab")
    at = {"published_at": "2026-03-01T00:00:00Z"}
    rows: list[dict[str, object]] = [
        {"report_id": "rpt-1", "title": "Week 9", "threads": [both, own], **at},
        {"report_id": "rpt-2", "title": "Week 8", "threads": [both, own], **at},
        {"report_id": "rpt-3", "title": "b", "thread_id": "b" * 16, "outcome": outcome, **at},
    ]
    entries = entries_of(rows, "https://lists.example.org/")
    assert [(entry.title, [one.title for one in entry.decided]) for entry in entries] == [
        ("Week 9", ["a"]), ("b", []), ("Week 8", []),
    ]  # fmt: skip
