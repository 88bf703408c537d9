"""The addresses that a source may name."""

import pytest

from shared.azure.outbound import (
    AddressPolicy,
    FetchError,
    ForbiddenAddressError,
    SourceError,
    check_http_url,
)
from shared.ingestion.fetch_files import rsync_address
from shared.ingestion.fetch_imap import imap_address

FORBIDDEN = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
    "0", "0.0.0.0", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "169.254.0.1", "2852039166", "0xA9FEA9FE", "168.63.129.16", "192.0.0.1", "192.0.0.9", "192.0.0.10", "192.88.99.1", "[fec0::1]", "[feff::1]", "[3fff::1]", "[3fff:fff::1]", "192.0.2.1",
    "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a00:1::1]",
    "[2001:0:7f00:1::]", "①②⑦.⓪.⓪.①", "127。0。0。1",
]  # fmt: skip
PUBLIC = [
    "93.184.216.34",
    "8.8.8.8",
    "[2606:2800:220:1::1]",
    "[::ffff:8.8.8.8]",
    "example.org",
]
NOBODY = AddressPolicy.parse("")


@pytest.mark.parametrize("host", FORBIDDEN)
@pytest.mark.requirement("R-307")
def test_an_address_that_is_not_public_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises((ForbiddenAddressError, SourceError)):
        check_http_url(f"http://{host}/archive", NOBODY)


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_address_is_allowed(host: str) -> None:
    assert check_http_url(f"https://{host}/archive", NOBODY).scheme == "https"


RESOLVED = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "224.0.0.1", "::1", "fe80::1%eth0",
            "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fd00:ec2::254", "2002:7f00:1::"]  # fmt: skip


@pytest.mark.parametrize("address", RESOLVED)
async def test_what_a_name_resolves_to_is_held_to_the_same_rules(address: str) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return [address]

    with pytest.raises(ForbiddenAddressError, match="SOURCE_ALLOWED_HOSTS"):
        await AddressPolicy.parse("", resolve).resolved("name.example", 443)


@pytest.mark.parametrize(
    ("allowed", "host", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("10.0.0.0/8, fd00::/8", "10.9.8.7", True),
        ("10.0.0.0/8, fd00::/8", "fd00::7", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("archive.corp", "archive.corp", True),
        ("archive.corp", "ARCHIVE.corp.", True),
        ("archive.corp", "evil-archive.corp", False),
        ("*.corp", "lists.corp", True),
        ("*.corp", "corp", False),
        ("*.corp", "notcorp", False),
        ("", "archive.corp", False),
    ],
)
def test_the_setting_names_hosts_suffixes_addresses_and_networks(
    allowed: str, host: str, expected: bool
) -> None:
    assert AddressPolicy.parse(allowed).allows(host) is expected


async def test_an_allowed_name_may_resolve_to_anything() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["10.0.0.5"]

    assert await AddressPolicy.parse("archive.corp", resolve).resolved("archive.corp", 80) == ["10.0.0.5"]
    with pytest.raises(ForbiddenAddressError):
        await AddressPolicy.parse("archive.corp", resolve).resolved("other.corp", 80)


async def test_a_name_that_does_not_resolve_is_a_failure_that_may_pass() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(FetchError, match=r"gone\.example: the name cannot be resolved"):
        await AddressPolicy.parse("", resolve).resolved("gone.example", 80)


@pytest.mark.parametrize(
    "url",
    ["ftp://example.org/", "file:///etc/passwd", "http://", "http:///x", "example.org/x", "http://u:p@example.org/",
     "http://u@example.org/", "http://[::1/", "http://example.org:99999/", "javascript:alert(1)", ""],
)  # fmt: skip
def test_an_address_that_is_no_plain_web_address_is_refused(url: str) -> None:
    with pytest.raises((SourceError, ForbiddenAddressError)):
        check_http_url(url, NOBODY)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rsync://rsync.ietf.org/mailman-archive/quic/", "rsync://192.0.43.7:873/mailman-archive/quic/"),
        ("rsync.ietf.org::mailman-archive/quic/", "rsync://192.0.43.7:873/mailman-archive/quic/"),
        ("rsync://rsync.ietf.org:8873/module", "rsync://192.0.43.7:8873/module"),
    ],
)
def test_an_rsync_source_names_a_daemon_its_module_and_a_path(url: str, expected: str) -> None:
    assert rsync_address(url, NOBODY).at("192.0.43.7") == expected


@pytest.mark.parametrize(
    "url",
    ["host:path", "user@host::module", "rsync://user@host/module", "-e sh::module/x", "rsync://-oProxy/module",
     "host::-module", "rsync://host/module/../../etc", "rsync://host/mod;reboot", "rsync://host/$(reboot)",
     "rsync://host/a b", "rsync://host/", "::module", "/local/path", "rsync://host:0/m", "rsync://host:70000/m",
     "rsync://127.0.0.1/m", "127.0.0.1::m", "rsync://[::1]/m", "rsync://host/m\nx", "http://host/x", ""],
)  # fmt: skip
def test_an_rsync_source_with_anything_else_in_it_is_refused(url: str) -> None:
    with pytest.raises((SourceError, ForbiddenAddressError)):
        rsync_address(url, NOBODY)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("imaps://mail.example.org", ("mail.example.org", 993, "implicit", "INBOX")),
        ("imaps://mail.example.org:1993/lists/quic", ("mail.example.org", 1993, "implicit", "lists/quic")),
        ("imap://mail.example.org/My%20List", ("mail.example.org", 143, "starttls", "My List")),
    ],
)
def test_an_imap_source_names_a_server_and_a_mailbox(url: str, expected: tuple[str, int, str, str]) -> None:
    found = imap_address(url, {}, NOBODY)
    assert (found.host, found.port, found.tls, found.mailbox) == expected


@pytest.mark.parametrize(
    "url",
    ["imaps://user:pass@host/INBOX", "imaps://127.0.0.1/INBOX", "imaps:///INBOX", "http://host/x", "imaps://host/a%0Ab",
     "imaps://host/%ff", "imaps://host:x/INBOX", "imaps://host/INBOX?x", "imaps://[::1]/x"],
)  # fmt: skip
def test_an_imap_source_with_credentials_or_line_breaks_in_it_is_refused(url: str) -> None:
    with pytest.raises((SourceError, ForbiddenAddressError)):
        imap_address(url, {}, NOBODY)


def test_a_login_in_the_clear_is_only_for_hosts_that_are_allowed() -> None:
    with pytest.raises(SourceError, match="plaintext"):
        imap_address("imap://mail.example.org/x", {"plaintext": True}, NOBODY)
    policy = AddressPolicy.parse("mail.corp")
    assert imap_address("imap://mail.corp/x", {"plaintext": True}, policy).tls == "none"
    with pytest.raises(SourceError, match="plaintext"):
        imap_address("imaps://mail.corp/x", {"plaintext": True}, policy)
