import pytest

from shared.settings.app import SettingsError, load_settings
from shared.settings.outgoing import MailServer, parse_mail_server
from tests.settings.test_app import LOCAL

SENDING = {"EMAIL_FROM": "digests@example.org", "EMAIL_SECRET": "s" * 16, "PUBLIC_URL": "https://example.org"}


@pytest.mark.parametrize(
    ("url", "server", "starttls"),
    [
        ("smtp://mail.example.org", MailServer("mail.example.org", 587), True),
        ("smtp://mail.example.org:25/", MailServer("mail.example.org", 25), True),
        ("smtps://mail.example.org", MailServer("mail.example.org", 465, tls=True), False),
        ("smtp://127.0.0.1:1025", MailServer("127.0.0.1", 1025), False),
        ("smtp://[::1]:1025", MailServer("::1", 1025), False),
        (
            "smtp://me%40example.org:p%2F%3A%40%20d@mail.example.org",
            MailServer("mail.example.org", 587, user="me@example.org", password="p/:@ d"),
            True,
        ),
    ],
)
def test_one_address_says_how_mail_is_sent(url: str, server: MailServer, starttls: bool) -> None:
    parsed = parse_mail_server(url)
    assert parsed == server
    assert parsed.starttls is starttls
    assert load_settings({**LOCAL, **SENDING, "SMTP_URL": url}).mail_server == server
    assert "p/:@ d" not in repr(parsed)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.org", "https://mail.example.org", "smtp://", "smtp://me@mail.example.org",
        "smtp://:hidden@", "smtp://mail.example.org:port", "smtp://mail.example.org/inbox", "smtp://[hidden",
        "smtps://me:hidden@mail.example.org?tls=no",
    ],
)  # fmt: skip
def test_a_malformed_address_is_refused_at_the_start_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^SMTP_URL: ") as raised:
        load_settings({**LOCAL, **SENDING, "SMTP_URL": url})
    assert "hidden" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_mail_needs_a_sender_a_secret_and_an_address_of_the_site() -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings({**LOCAL, "SMTP_URL": "smtp://mail.example.org"})
    lines = str(raised.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["EMAIL_FROM", "EMAIL_SECRET", "PUBLIC_URL"]
    assert load_settings(LOCAL).mail_server is None
