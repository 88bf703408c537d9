"""Benchmark of the mail library against the standard library, and of chunking against plain tokenizing.

    ROUGH_CONSENSUS_DATA=<folder with mail/> python -m benchmarks.mail [parse] [chunk] [memory]

Times are CPU time of one process. The candidates alternate in one run, and the best turn of each counts, so
the ratios are also valid on a busy machine.
"""

import argparse
import contextlib
import email
import email.policy
import gc
import mailbox
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from email.header import decode_header, make_header
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import Any

from shared.chunking.chunker import ChunkSettings, Strategy, chunk_body
from shared.embedding.model_tokens import model_tokenizer
from shared.mail.models import ParsedMail, Skipped
from shared.mail.parse import parse_archive
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive
from tests.support.threads import InMemoryThreads, assign

TURNS = 3
MEMORY_SIZES_MB = (100, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["parse", "chunk", "memory", []], help="default: all")
    parts = parser.parse_args().parts or ["parse", "chunk", "memory"]
    folder = data_folder()
    if folder is None:
        raise SystemExit(WHY_SKIPPED)
    files = [folder / "git-2023-12.mbox.gz", folder / "git-2024-01.mbox.gz"]
    with tempfile.TemporaryDirectory() as scratch:
        plain = [_decompressed(file, Path(scratch)) for file in files]
        if "parse" in parts:
            _parsing(plain)
        if "chunk" in parts:
            _chunking(plain)
        if "memory" in parts:
            _memory(plain, Path(scratch))


def _decompressed(file: Path, folder: Path) -> Path:
    target = folder / file.stem
    with open_archive(file) as source:
        target.write_bytes(source.read())
    return target


def _parsing(files: list[Path]) -> None:
    times = _turns(
        {
            "ours: all fields, segments, mentions, threads": lambda: _ours(files),
            "ours without threads": lambda: sum(1 for _ in _messages(files)),
            "mailbox + email, policy.default: same fields": lambda: _policy_default(files),
            "mailbox + email, compat32: same fields": lambda: _compat32(files),
            "mailbox + email, compat32: parse, decode the text": lambda: _compat32(files, text_only=True),
        }
    )
    ours = next(iter(times.values()))[0]
    print(f"\n{'parsing the git archives':52}{'msg/s':>8}{'ours is':>10}")
    for name, (seconds, count) in times.items():
        print(f"{name:52}{count / seconds:8.0f}{seconds / ours:9.2f}x")


def _turns(rivals: dict[str, Callable[[], int]]) -> dict[str, tuple[float, int]]:
    best: dict[str, tuple[float, int]] = {}
    for _ in range(TURNS):
        for name, run in rivals.items():
            gc.collect()
            start = time.process_time()
            count = run()
            seconds = time.process_time() - start
            best[name] = min(best.get(name, (seconds, count)), (seconds, count))
    return best


def _messages(files: list[Path]) -> Iterator[ParsedMail]:
    for file in files:
        with file.open("rb") as stream:
            yield from (message for message in parse_archive(stream) if not isinstance(message, Skipped))


def _ours(files: list[Path]) -> int:
    threads = InMemoryThreads()
    count = 0
    for file in files:
        with file.open("rb") as stream:
            month = [message for message in parse_archive(stream) if not isinstance(message, Skipped)]
        threads.apply(assign(month, threads))
        count += len(month)
    return count


def _policy_default(files: list[Path]) -> int:
    return sum(_read_with_policy(message) for message in _mailbox(files, email.policy.default))


def _mailbox(files: list[Path], policy: Any) -> Iterator[Any]:
    for file in files:
        box = mailbox.mbox(file, factory=_reader(policy))
        try:
            yield from box
        finally:
            box.close()


def _reader(policy: Any) -> Callable[[Any], Any]:
    return lambda stream: email.message_from_binary_file(stream, policy=policy)


def _read_with_policy(message: Any) -> int:
    # A bug of the other library must not stop it. Mails that it cannot read are skipped.
    with contextlib.suppress(Exception):
        for name in ("from", "to", "cc"):
            _ = [address.addr_spec for address in message[name].addresses] if message[name] else []
        _ = (str(message["subject"]), message["date"].datetime if message["date"] else None)
        _ = [str(message[name]) for name in ("message-id", "in-reply-to", "references") if message[name]]
    for part in message.walk():
        if part.get_content_maintype() == "text":
            with contextlib.suppress(LookupError, KeyError):
                part.get_content()
    return 1


def _compat32(files: list[Path], *, text_only: bool = False) -> int:
    count = 0
    for message in _mailbox(files, email.policy.compat32):
        count += 1
        for part in message.walk():
            if part.get_content_maintype() == "text":
                with contextlib.suppress(LookupError):
                    part.get_payload(decode=True).decode(part.get_content_charset("utf-8"), "replace")
        if not text_only:
            _headers_with_compat32(message)
    return count


def _headers_with_compat32(message: Any) -> None:
    for name in ("from", "to", "cc"):
        people = getaddresses([str(value) for value in message.get_all(name, [])])
        _ = [str(make_header(decode_header(person))) for person, _ in people]
    _ = str(make_header(decode_header(message.get("subject", ""))))
    with contextlib.suppress(ValueError, TypeError):
        parsedate_to_datetime(message["date"])
    _ = [str(message[name]).split() for name in ("message-id", "in-reply-to", "references") if message[name]]


def _chunking(files: list[Path]) -> None:
    tokenizer = model_tokenizer()
    messages = list(_messages(files))
    texts = [message.body_normalized for message in messages]

    def chunked(settings: ChunkSettings) -> int:
        return sum(
            len(chunk_body(message.body_raw, message.segments, tokenizer, settings)) for message in messages
        )

    times = _turns(
        {
            "a bare tokenizer pass over the same text": lambda: len(
                [tokenizer.tokenize(text) for text in texts]
            ),
            "recursive chunks": lambda: chunked(ChunkSettings()),
            "token windows": lambda: chunked(ChunkSettings(Strategy.TOKEN_WINDOW)),
        }
    )
    bare = next(iter(times.values()))[0]
    print(f"\n{'chunking their own text':52}{'mails/s':>8}{'of bare':>10}")
    for name, (seconds, _) in times.items():
        print(f"{name:52}{len(messages) / seconds:8.0f}{bare / seconds:9.2f}x")


def _memory(files: list[Path], scratch: Path) -> None:
    print(f"\n{'reading one mbox, fresh process':52}{'messages':>9}{'peak RSS':>10}")
    for megabytes in MEMORY_SIZES_MB:
        target = scratch / "large.mbox"
        _repeat(files, target, megabytes * 1_000_000)
        command = [
            sys.executable,
            "-c",
            "from benchmarks.mail import peak; import sys; peak(sys.argv[1])",
            str(target),
        ]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        print(f"{f'{megabytes} MB':52}{answer[0]:>9}{int(answer[1]):>7} MB")


def peak(path: str) -> None:
    """Parse an archive, and print the number of messages and the process's peak RSS in MB."""
    with Path(path).open("rb") as stream:
        count = sum(1 for _ in parse_archive(stream))
    # getrusage is unsuitable, because a child's value starts with its parent's memory.
    status = Path("/proc/self/status").read_text()
    print(count, int(status.split("VmHWM:")[1].split()[0]) // 1024)


def _repeat(files: list[Path], target: Path, size: int) -> None:
    """Write an archive of a given size, which repeats the same mails with new ids."""
    content = b"".join(file.read_bytes() for file in files)
    written = 0
    with target.open("wb") as out:
        while written < size:
            copy = _MESSAGE_ID.sub(rb"\g<1><%d." % written, content)
            written += out.write(copy[: size - written])


_MESSAGE_ID = re.compile(rb"(?im)^(message-id:\s*)<")


if __name__ == "__main__":
    main()
