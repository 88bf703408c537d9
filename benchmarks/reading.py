"""Benchmark of reading a thread: its proposals, positions and outcome.

    ROUGH_CONSENSUS_DATA=<folder with mail/> python -m benchmarks.reading

Threads of 31 to 47 mails of the git archives are each read many times. Times are CPU time of one core, the
best turn of each. The ratio is to parsing the same archives in the same run. The limit is 50 ms for a thread
of 40 mails.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from evaluation.consensus_corpus import thread_mail_of
from shared.core.lazy_import import tune_garbage_collector
from shared.mail.models import ParsedMail, Skipped
from shared.mail.parse import parse_archive
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive
from tests.support.threads import InMemoryThreads, assign

TURNS = 30
MAILS = range(31, 48)
LIMIT_MS = 50
HOSTILE = "+1 I support this, but I object. "
HOSTILE_SIZES = (20_000, 60_000, 1_000_000)


def parsed(files: Iterable[Path]) -> list[ParsedMail]:
    found: list[ParsedMail] = []
    for file in files:
        with open_archive(file) as stream:
            found += (message for message in parse_archive(stream) if not isinstance(message, Skipped))
    return found


def threads_of(messages: list[ParsedMail]) -> list[list[ThreadMail]]:
    """Return the threads as in the pipeline, each ordered by date and starting with its root."""
    by_node = {message.node: message for message in messages}
    grouped: dict[str, list[ParsedMail]] = defaultdict(list)
    for node, thread in assign(by_node.values(), InMemoryThreads()).assignments.items():
        grouped[thread].append(by_node[node])
    return [
        [
            thread_mail_of(member)
            for member in sorted(members, key=lambda member: member.date.timestamp() if member.date else 0.0)
        ]
        for members in grouped.values()
        if len(members) in MAILS
    ]


def best_ms(work: Callable[[], object], turns: int) -> float:
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best * 1000


def hostile(thread: list[ThreadMail], size: int) -> list[ThreadMail]:
    """Return the thread with an additional reply, which repeats a text up to `size` characters."""
    text = HOSTILE * (size // len(HOSTILE))
    return [*thread, replace(thread[1], message_id="<repeats@example.org>", text=text, quotes=())]


def main() -> None:
    tune_garbage_collector()  # as in the app
    folder = data_folder()
    if folder is None:
        raise SystemExit(WHY_SKIPPED)
    files = [folder / "git-2023-12.mbox.gz", folder / "git-2024-01.mbox.gz"]
    messages = parsed(files)
    parsing = best_ms(lambda: parsed(files), 2) / len(messages)
    threads = threads_of(messages)
    if not threads:
        raise SystemExit(f"no thread of {MAILS.start} to {MAILS.stop - 1} mails in {folder}")
    times = sorted((best_ms(partial(read_thread, mails), TURNS), len(mails)) for mails in threads)
    per_mail = sum(ms for ms, _ in times) / sum(count for _, count in times)
    print(f"{len(times)} threads of {MAILS.start} to {MAILS.stop - 1} mails, best of {TURNS} turns each")
    print(f"  median {statistics.median(ms for ms, _ in times):.1f} ms")
    print(f"  worst {times[-1][0]:.1f} ms, a thread of {times[-1][1]} mails (limit {LIMIT_MS})")
    print(f"  a mail {per_mail:.2f} ms, {per_mail / parsing:.1f} x of parsing it ({parsing:.2f} ms)")
    shortest = min(threads, key=len)
    plain = best_ms(partial(read_thread, shortest), TURNS)
    for size in HOSTILE_SIZES:
        ms = best_ms(partial(read_thread, hostile(shortest, size)), 3)
        print(f"  with {size:,} letters of repetition in one more mail {ms:.1f} ms ({plain:.1f} without it)")


if __name__ == "__main__":
    main()
