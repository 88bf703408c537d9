"""Which addresses mail is sent to: a plain one, that cannot be read as anything else."""

import re

LONGEST = 254
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"{_LOCAL}@({_LABEL}\.)+{_LABEL}")


def is_address(text: str) -> bool:
    """No quoted forms, comments or other scripts: a server might read those in its own way."""
    return len(text) <= LONGEST and _ADDRESS.fullmatch(text) is not None
