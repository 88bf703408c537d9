"""The process: reads the archives that it is told to on standard input, one after the other.

    python -m shared.ingestion.reader.worker

Each line is a path, and which share of the archive's messages is wanted of how many. Each answer is a length
and a value: batches of messages, and at the end of each archive whether it was one.
"""

import json
import marshal
import sys
import traceback
from pathlib import Path
from typing import IO, Any

from shared.core.garbage_collection import tune_garbage_collector
from shared.domain.mail.errors import MailboxError
from shared.domain.mail.models import Share
from shared.ingestion.reader.batches import batch_to_marshal, read_batches
from shared.ingestion.unpacking.errors import ArchiveError

__all__ = ["LENGTH_BYTES", "main"]

LENGTH_BYTES = 8


def main() -> None:
    tune_garbage_collector()
    answers = sys.stdout.buffer
    for line in sys.stdin:
        path, number, of = json.loads(line)
        _read(Path(path), Share(number, of), answers)


def _read(path: Path, share: Share, answers: IO[bytes]) -> None:
    try:
        for batch in read_batches(path, share):
            _send(answers, ("batch", batch_to_marshal(batch)))
    except (ArchiveError, MailboxError) as error:
        _send(answers, ("unreadable", str(error)))
    except Exception:  # noqa: BLE001 - said where it can be seen, and the process can go on
        _send(answers, ("failed", traceback.format_exc()))
    else:
        _send(answers, ("end", None))


def _send(answers: IO[bytes], answer: tuple[str, Any]) -> None:
    content = marshal.dumps(answer)
    answers.write(len(content).to_bytes(LENGTH_BYTES, "big") + content)
    answers.flush()


if __name__ == "__main__":
    main()
