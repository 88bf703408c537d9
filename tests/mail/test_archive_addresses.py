"""Addresses in a list's own archive, built as the archives build them."""

from datetime import UTC, datetime

import pytest

from shared.mail.archive_addresses import TemplateFaultError, archive_address, check_template

DAY = datetime(2024, 1, 9, tzinfo=UTC)


def address(template: str, message_id: str = "<xmqq@gitster.g>", date: datetime | None = DAY) -> str | None:
    check_template(template)
    return archive_address(template, message_id=message_id, source="git", date=date)


def test_of_every_kind_of_archive() -> None:
    """The hash of Mailman is the example of its own documentation."""
    assert (
        address("https://lore.kernel.org/git/{message_id}/") == "https://lore.kernel.org/git/xmqq@gitster.g/"
    )
    assert address("https://x.org/arch/msg/{list}/{ietf_hash}/", "<87654@example>") == (
        "https://x.org/arch/msg/git/dQ-Jaai089k_KSuaRgdAu9ESlSk/"
    )
    assert address("https://l.org/message/{mailman_hash}/", "<first>") == (
        "https://l.org/message/4CMWUN6BHVCMHMDAOSJZ2Q72G5M32MWB/"
    )
    assert address("https://l.org/pipermail/git/{year}-{month_name}/thread.html") == (
        "https://l.org/pipermail/git/2024-January/thread.html"
    )


def test_a_message_id_cannot_leave_its_place() -> None:
    shown = address("https://lore.kernel.org/git/{message_id}/", "<../../?x#y&<b>{list}@e>")
    assert shown == "https://lore.kernel.org/git/..%2F..%2F%3Fx%23y%26%3Cb%3E%7Blist%7D@e/"


def test_a_mail_without_a_date_has_no_month() -> None:
    assert address("https://l.org/{year}/", date=None) is None
    assert address("https://l.org/{message_id}", date=None) == "https://l.org/xmqq@gitster.g"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("https://lore.kernel.org/git/", "names nothing"),
        ("javascript:{message_id}", "must begin"),
        ("https://{message_id}/", "must begin"),
        ("https://a.org/{message_id.__class__}", "unknown"),
        ("https://a.org/{message_id!r}", "nothing else"),
        ("https://a.org/{message_id:>9999999}", "nothing else"),
        ("https://a.org/{author}", "unknown"),
        ("https://a.org/{message_id", "brace"),
        ("https://a.org/ {message_id}", "must begin"),
    ],
)
def test_a_template_that_cannot_be_used_says_why(template: str, said: str) -> None:
    with pytest.raises(TemplateFaultError, match=said):
        check_template(template)
