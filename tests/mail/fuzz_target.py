"""Coverage-guided fuzzing of the parser. Needs the `fuzz` extra.

python -m tests.mail.fuzz_target -max_total_time=60 [corpus folder]
"""

import importlib
import io
import sys
from typing import Any

# It has no types, and type checks also run on machines without it.
atheris: Any = importlib.import_module("atheris")

with atheris.instrument_imports(include=["shared.mail"]):
    from shared.mail.models import MailboxError, Skipped
    from shared.mail.parse import parse_archive
from tests.mail.hard_mails import CASES  # noqa: E402 -- only after the instrumented imports
from tests.mail.test_fuzz import check  # noqa: E402 -- as above

_BUG = "cannot be parsed"
_EXPECTED = "cannot be parsed: ValueError: neither headers nor a body"


def one_input(data: bytes) -> None:
    try:
        found = list(parse_archive(io.BytesIO(data)))
    except MailboxError:
        return
    for one in found:
        if not isinstance(one, Skipped):
            check(one)
        elif one.reason.startswith(_BUG) and one.reason != _EXPECTED:
            raise AssertionError(one.reason)


def main() -> None:
    """Try the hard messages, then the fuzzer's inputs."""
    for case in CASES:
        one_input(b"From x Mon Feb  5 10:00:00 2024\n" + case.mail)
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
