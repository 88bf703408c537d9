"""The reader process: `python -m shared.ingestion.reader.worker`. It reads one archive after the other.

A request names a path, and which share of the archive's messages is wanted of how many. The answers are
batches of messages (a body of marshal), and at the end of each archive whether it could be read.
"""

import marshal
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from shared.core.frames import Frame, encode_frame, read_frame
from shared.core.garbage_collection import tune_garbage_collector
from shared.core.lazy_import import lazy
from shared.domain.mail.errors import MailboxError
from shared.domain.mail.models import Share
from shared.ingestion.reader.batches import batch_to_marshal, read_batches
from shared.ingestion.unpacking.errors import ArchiveError

if TYPE_CHECKING:
    import traceback
else:
    traceback = lazy("traceback")


def main() -> None:
    tune_garbage_collector()
    answers = sys.stdout.buffer
    while (request := read_frame(sys.stdin.buffer)) is not None:
        share = Share(request.header["share"], request.header["of"])
        _read(Path(request.header["path"]), share, answers)


def _read(path: Path, share: Share, answers: IO[bytes]) -> None:
    try:
        for batch in read_batches(path, share):
            _send(answers, "batch", body=marshal.dumps(batch_to_marshal(batch)))
    except (ArchiveError, MailboxError) as error:
        _send(answers, "unreadable", str(error))
    except Exception:  # noqa: BLE001 - said where it can be seen, and the process can go on
        _send(answers, "failed", traceback.format_exc())
    else:
        _send(answers, "end")


def _send(answers: IO[bytes], kind: str, text: str = "", body: bytes = b"") -> None:
    answers.write(encode_frame(Frame({"kind": kind, "text": text}, body)))
    answers.flush()


if __name__ == "__main__":
    main()
