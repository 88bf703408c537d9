"""Sources without HTTP: IMAP, rsync, and local paths."""

import asyncio
import json
import os
import shutil
import socket
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
import trustme

from shared.azure.outbound import AddressPolicy
from shared.ingestion.fetch_imap import _mbox_entry, fetch_imap
from shared.ingestion.fetcher import FetchContext
from shared.mail.mbox import read_archive
from shared.mail.models import RawMessage
from shared.models.sources import OperationStatus, Source
from shared.pipeline.retry import GaveUpError
from tests.ingestion.environment import Place
from tests.ingestion.imap_server import MailServer, a_mail_server
from tests.ingestion.unpacking.files import mbox
from tests.support.cloud import wait_for
from tests.support.documents import CREATED

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOGIN = {"username_setting": "SOURCE_SECRET_USER", "password_setting": "SOURCE_SECRET_PASSWORD"}


def secrets_of(mail: MailServer, host: str = "127.0.0.1") -> dict[str, str]:
    return {
        "SOURCE_SECRET_USER": mail.user,
        "SOURCE_SECRET_PASSWORD": mail.password,
        "SOURCE_SECRET_PASSWORD_HOST": host,
    }


async def add_imap(place: Place, mail: MailServer, **settings: object) -> Source:
    place.secrets = secrets_of(mail)
    url = f"imap://127.0.0.1:{mail.port}/lists/quic"
    return await place.add_source("imap", url, settings={**LOGIN, "plaintext": True, **settings})


async def subjects(place: Place, archive_id: str) -> list[str]:
    import io  # noqa: PLC0415 - next to its only use

    content = await place.blob(await place.archive(archive_id))
    read = list(read_archive(io.BytesIO(content)))
    assert all(isinstance(message, RawMessage) for message in read)
    return [
        message.data.split(b"\n", 1)[0].decode().removeprefix("Subject: ")
        for message in read
        if isinstance(message, RawMessage)
    ]


@pytest.mark.requirement("R-301")
async def test_new_messages_come_as_one_mbox_and_only_once(place: Place) -> None:
    async with a_mail_server() as mail:
        for uid in (3, 4, 9):
            mail.add(uid, f"{uid}-{place.tag}")
        await add_imap(place, mail)
        (first,) = (await place.run()).archives
        assert await subjects(place, first.archive_id) == [f"{uid}-{place.tag}" for uid in (3, 4, 9)]
        assert (await place.source()).cursor["last_uid"] == 9
        assert (await place.run()).archives == []
        mail.add(12, f"12-{place.tag}")
        (second,) = (await place.run()).archives
        assert await subjects(place, second.archive_id) == [f"12-{place.tag}"]
    assert 'EXAMINE "lists/quic"' in mail.commands
    assert not [command for command in mail.commands if "STORE" in command or "SELECT" in command]
    await place.announced(2)


async def test_a_mailbox_that_was_numbered_anew_is_read_from_its_start(place: Place) -> None:
    async with a_mail_server() as mail:
        mail.add(50, f"old-{place.tag}")
        await add_imap(place, mail)
        await place.run()
        mail.messages.clear()
        mail.uid_validity = 8
        mail.add(1, f"new-{place.tag}")
        (again,) = (await place.run()).archives
    assert await subjects(place, again.archive_id) == [f"new-{place.tag}"]
    assert (await place.source()).cursor == {
        "url": (await place.source()).url,
        "uidvalidity": 8,
        "last_uid": 1,
    }
    await place.announced(2)


async def test_a_mailbox_larger_than_one_archive_comes_in_parts(place: Place) -> None:
    small = place.fresh(ARCHIVE_MAX_BYTES=1000)
    async with a_mail_server() as mail:
        for uid in range(1, 13):
            mail.add(uid, f"{uid}-{small.tag}")
        await add_imap(small, mail)
        seen: list[str] = []
        for _ in range(12):
            fetched = (await small.run()).archives
            if not fetched:
                break
            seen += await subjects(small, fetched[0].archive_id)
            small.later(minutes=1)
    assert seen == [f"{uid}-{small.tag}" for uid in range(1, 13)]
    await place.announced(2)


async def test_a_connection_that_breaks_is_made_again(place: Place) -> None:
    async with a_mail_server(drop_fetches=2) as mail:
        mail.add(1, f"1-{place.tag}")
        await add_imap(place, mail)
        (fetched,) = (await place.run()).archives
    assert await subjects(place, fetched.archive_id) == [f"1-{place.tag}"]
    assert place.slept == [5, 10]
    await place.announced(1)


async def test_a_refused_login_names_no_secret_anywhere(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_mail_server() as mail:
        await add_imap(place, mail)
        place.secrets["SOURCE_SECRET_PASSWORD"] = "hunter 22"
        failed = await place.run()
    assert "the sign-in was rejected" in (failed.error or "")
    (told,) = await place.failures(1)
    everything = (
        caplog.text
        + told.to_json().decode()
        + (await place.source()).model_dump_json()
        + failed.model_dump_json()
    )
    assert "hunter" not in everything
    assert "hunter" in str(mail.commands), "the server must have seen it: otherwise the test shows nothing"


@pytest.mark.parametrize(
    ("secrets", "message"),
    [
        ({}, "the app setting SOURCE_SECRET_USER is not set"),
        (
            {
                "SOURCE_SECRET_USER": "u",
                "SOURCE_SECRET_PASSWORD": "@Microsoft.KeyVault(SecretUri=https://v/s)",
            },
            "the Key Vault reference in SOURCE_SECRET_PASSWORD was not resolved",
        ),
    ],
)
async def test_a_secret_that_is_not_there_is_told_by_its_settings_name(
    place: Place, secrets: dict[str, str], message: str
) -> None:
    async with a_mail_server() as mail:
        await add_imap(place, mail)
        place.secrets = secrets
        assert message in ((await place.run()).error or "")
    assert mail.commands == []
    await place.failures(1)


@pytest.mark.parametrize("host", ["", "mail.example.org"])
async def test_a_password_is_sent_to_its_own_host_alone(place: Place, host: str) -> None:
    async with a_mail_server() as mail:
        await add_imap(place, mail)
        place.secrets = secrets_of(mail, host)
        error = (await place.run()).error or ""
        assert "set the app setting SOURCE_SECRET_PASSWORD_HOST to 127.0.0.1" in error
    assert mail.commands == []
    await place.failures(1)


async def test_no_other_app_setting_can_be_sent_to_a_server(place: Place) -> None:
    async with a_mail_server() as mail:
        await add_imap(place, mail, password_setting="COSMOS_KEY")
        place.secrets["COSMOS_KEY"] = "the key"
        assert "must name an app setting that starts with SOURCE_SECRET_" in ((await place.run()).error or "")
    assert mail.commands == []
    await place.failures(1)


@pytest.mark.parametrize(
    "date", ["01-Xyz-2026 10:00:00 +0100", "99-Feb-2026 99:99:99 +9999", "01-Feb-0000 10:00:00 +0000", ""]
)
async def test_a_time_that_there_is_not_costs_no_message(date: str) -> None:
    entry = _mbox_entry(f'1 (UID 1 INTERNALDATE "{date}"'.encode(), b"Subject: x\r\n\r\nFrom here\r\n")
    assert entry.startswith(b"From MAILER-DAEMON ")
    assert entry.endswith(b"\nSubject: x\n\n>From here\n\n")


async def test_a_server_that_announces_gigabytes_is_hung_up_on(place: Place) -> None:
    async with a_mail_server(lying_literal=50_000_000_000) as mail:
        mail.add(1, "x")
        await add_imap(place, mail)
        failed = await place.run()
    assert "the server sends more than" in (failed.error or "")
    await place.failures(1)


async def test_tls_is_checked_before_the_login_is_sent(place: Place, tmp_path: Path) -> None:
    authority, client, server = (
        trustme.CA(),
        ssl.create_default_context(),
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
    )
    authority.configure_trust(client)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    async with a_mail_server(server) as mail:
        mail.add(1, "x")
        url = f"imaps://127.0.0.1:{mail.port}/INBOX"
        source = Source(
            created_at=CREATED, id="s", name="s", source_type="imap", url=url, settings=dict(LOGIN)
        )
        secrets = secrets_of(mail)
        policy = AddressPolicy.parse("127.0.0.1")
        around = FetchContext(place.clients, tmp_path, policy, secrets)
        with pytest.raises(GaveUpError, match="CERTIFICATE_VERIFY_FAILED"):
            await anext(fetch_imap(source, around))
        assert mail.commands == []
        async with aclosing(fetch_imap(source, around, tls_context=client)) as files:
            assert (await anext(files)).cursor["last_uid"] == 1


RECORDER = """#!{python}
import json, os, pathlib, sys, time
target = pathlib.Path(sys.argv[-1])
pathlib.Path({log!r}).write_text(json.dumps({{"arguments": sys.argv[1:], "environment": sorted(os.environ)}}))
{body}
"""


def fake_rsync(folder: Path, body: str) -> Path:
    """Create a program named rsync in its own folder, which records its calls."""
    program = folder / "bin" / "rsync"
    program.parent.mkdir()
    log = str(folder / "called.json")
    program.write_text(RECORDER.format(python=sys.executable, log=log, body=body))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program.parent


async def test_rsync_gets_its_arguments_as_a_list_with_the_checked_address_after_the_options(
    place: Place, tmp_path: Path
) -> None:
    body = f"(target / 'a.mbox').write_bytes({place.mbox('one')!r}); (target / 'README').write_text('hello')"
    place.secrets = {"PATH": str(fake_rsync(tmp_path, body)), "SECRET": "x"}

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    await place.add_source("rsync", "lists.example::archive/quic/")
    done = await place.run(resolve=resolve)
    assert done.status is OperationStatus.SUCCEEDED
    assert [(archive.filename, archive.duplicate) for archive in done.archives] == [("a.mbox", False)]
    assert [refusal.filename for refusal in done.refused] == ["README"]
    called = json.loads((tmp_path / "called.json").read_text())
    remote = called["arguments"].index("rsync://127.0.0.1:873/archive/quic/")
    assert called["arguments"][remote - 1] == "--"
    assert all(argument.startswith("--") for argument in called["arguments"][:remote])
    assert {"--no-links", "--no-devices", "--no-motd"} <= set(called["arguments"])
    assert set(called["environment"]) <= {"PATH", "LC_ALL", "LC_CTYPE"}
    (event,) = await place.announced(1)
    assert event.data.source_url == "lists.example::archive/quic/a.mbox"


async def test_rsync_that_fails_is_retried_and_its_own_words_are_shown(place: Place, tmp_path: Path) -> None:
    place.secrets = {
        "PATH": str(fake_rsync(tmp_path, "sys.stderr.write('@ERROR: Unknown module'); sys.exit(5)"))
    }
    await place.add_source("rsync", "rsync://127.0.0.1/nothing")
    failed = await place.run()
    assert "rsync ended with 5: @ERROR: Unknown module" in (failed.error or "")
    assert place.slept == [5, 10, 20]
    await place.failures(1)


async def test_rsync_that_brings_too_much_is_killed_with_all_that_it_started(
    place: Place, tmp_path: Path
) -> None:
    body = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
(target / "big").write_bytes(bytes(3_000_000))
time.sleep(600)
"""
    small = place.fresh(ARCHIVE_MAX_BYTES=250_000)
    small.secrets = {"PATH": str(fake_rsync(tmp_path, body))}
    await small.add_source("rsync", "rsync://127.0.0.1/lists")
    failed = await small.run()
    assert "more than 1000000 bytes" in (failed.error or "")
    child = Path("/proc") / (tmp_path / "child").read_text()
    wait_for(lambda: not child.exists() or "State:\tZ" in (child / "status").read_text())
    await place.failures(1)


async def test_a_fetch_that_takes_too_long_is_ended(place: Place, tmp_path: Path) -> None:
    hasty = place.fresh()
    hasty.secrets = {"PATH": str(fake_rsync(tmp_path, "time.sleep(600)"))}
    await hasty.add_source("rsync", "rsync://127.0.0.1/lists")
    assert "longer than 1 s" in ((await hasty.run(timeout_seconds=1.0)).error or "")
    await place.failures(1)


async def test_without_rsync_the_failure_says_what_to_do(place: Place, tmp_path: Path) -> None:
    place.secrets = {"PATH": str(tmp_path)}
    await place.add_source("rsync", "rsync://127.0.0.1/lists")
    assert "rsync is not installed here" in ((await place.run()).error or "")
    await place.failures(1)


needs_rsync = pytest.mark.skipif(
    shutil.which("rsync") is None, reason="the rsync program is not on this machine"
)


@asynccontextmanager
async def rsync_daemon(folder: Path, served: Path) -> AsyncIterator[str]:
    """Start a real daemon on loopback that serves a folder as the module `lists`, and return its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "rsyncd.conf"
    config.write_text(f"use chroot = no\n[lists]\npath = {served}\n")
    options = ["--daemon", "--no-detach", f"--config={config}", f"--port={port}", "--address=127.0.0.1"]
    daemon = await asyncio.create_subprocess_exec("rsync", *options)
    try:
        wait_for(lambda: _listens(port))
        yield f"rsync://127.0.0.1:{port}"
    finally:
        daemon.terminate()
        await daemon.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@needs_rsync
async def test_a_real_rsync_daemon_gives_its_archives_and_what_has_grown_since(
    place: Place, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    (served / "2024").mkdir(parents=True)
    (served / "a.mbox").write_bytes(place.mbox("one"))
    (served / "2024" / "b.mbox").write_bytes(place.mbox("two"))
    (served / "link.mbox").symlink_to("/etc/passwd")
    place.secrets = dict(os.environ)
    async with rsync_daemon(tmp_path, served) as address:
        await place.add_source("rsync", f"{address}/lists/")
        first = await place.run()
        assert sorted(archive.filename for archive in first.archives) == ["a.mbox", "b.mbox"]
        (served / "a.mbox").write_bytes(place.mbox("one", "three"))
        second = await place.run()
        assert {archive.filename: archive.duplicate for archive in second.archives} == {
            "a.mbox": False,
            "b.mbox": True,
        }
    events = await place.announced(3)
    assert {event.data.source_url for event in events} == {
        f"{address}/lists/a.mbox",
        f"{address}/lists/2024/b.mbox",
    }


@needs_rsync
async def test_a_real_rsync_daemon_without_the_module_or_with_too_large_a_file_says_so(
    place: Place, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "a.mbox").write_bytes(place.mbox("one"))
    (served / "large.mbox").write_bytes(place.mbox("two") + b"x" * 100_000)
    small = place.fresh(ARCHIVE_MAX_BYTES=50_000)
    small.secrets = dict(os.environ)
    async with rsync_daemon(tmp_path, served) as address:
        await small.add_source("rsync", f"{address}/lists/")
        failed = await small.run()
        assert "large.mbox: larger than 50000 bytes, so not fetched" in (failed.error or "")
        assert [archive.filename for archive in failed.archives] == ["a.mbox"]
        elsewhere = place.fresh()
        elsewhere.secrets = dict(os.environ)
        await elsewhere.add_source("rsync", f"{address}/nothing/")
        assert "Unknown module 'nothing'" in ((await elsewhere.run()).error or "")
    await place.announced(1)
    await place.failures(2)


async def test_a_folder_gives_each_file_once_and_again_when_it_changed(place: Place, tmp_path: Path) -> None:
    local = place.fresh(ALLOW_LOCAL_SOURCES=True)
    (tmp_path / "a.mbox").write_bytes(local.mbox("one"))
    (tmp_path / "b.mbox").write_bytes(local.mbox("two"))
    (tmp_path / "link.mbox").symlink_to("/etc/passwd")
    await local.add_source("local", tmp_path.as_uri())
    first = await local.run()
    assert [archive.filename for archive in first.archives] == ["a.mbox", "b.mbox"]
    assert (await local.run()).archives == []
    (tmp_path / "b.mbox").write_bytes(local.mbox("two", "three"))
    assert [archive.filename for archive in (await local.run()).archives] == ["b.mbox"]
    await place.announced(3)


async def test_local_paths_are_refused_unless_the_setting_allows_them(place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_bytes(mbox("one"))
    await place.add_source("local", str(tmp_path))
    assert "set ALLOW_LOCAL_SOURCES=true" in ((await place.run()).error or "")
    await place.failures(1)
