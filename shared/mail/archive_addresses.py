"""The address of a mail in the list's own archive, from a template that the source defines.

lore.kernel.org, public-inbox  https://lore.kernel.org/git/{message_id}/
mailarchive.ietf.org           https://mailarchive.ietf.org/arch/msg/{list}/{ietf_hash}/
HyperKitty (Mailman 3)         https://lists.example.org/archives/list/a@b/message/{mailman_hash}/
pipermail (Mailman 2)          https://lists.example.org/pipermail/a/{year}-{month_name}/thread.html
"""

import base64
import hashlib
import re
from datetime import datetime
from string import Formatter
from urllib.parse import quote, urlsplit

PLACEHOLDERS = ("message_id", "list", "ietf_hash", "mailman_hash", "year", "month", "month_name")
LONGEST_TEMPLATE = 500
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_BY_DATE = frozenset({"year", "month", "month_name"})


class TemplateFaultError(ValueError):
    """The template cannot be used. The message gives the reason."""


def check_template(template: str) -> None:
    names = _names(template)
    unknown = [name for name in names if name not in PLACEHOLDERS]
    if unknown:
        raise TemplateFaultError(f"{{{unknown[0]}}} is unknown; there are {', '.join(PLACEHOLDERS)}")
    if not names:
        raise TemplateFaultError(
            "names nothing of a mail; for example https://lore.kernel.org/git/{message_id}/"
        )
    if not re.match(r"https?://[A-Za-z0-9.:-]+/", template) or not template.isprintable() or " " in template:
        raise TemplateFaultError("must begin with https:// and a host without placeholders")
    urlsplit(template)


def archive_address(template: str, *, message_id: str, source: str, date: datetime | None) -> str | None:
    """Return the mail's address, or None if the template needs a date and the mail has none."""
    if date is None and _BY_DATE & set(_names(template)):
        return None
    bare = bare_message_id(message_id)
    values = {
        "message_id": quote(bare, safe="@"),
        "list": quote(source, safe=""),
        "ietf_hash": base64.urlsafe_b64encode(_sha1(bare + source)).decode().rstrip("="),
        "mailman_hash": base64.b32encode(_sha1(bare)).decode(),
    }
    if date is not None:
        month = {"month": f"{date.month:02d}", "month_name": _MONTHS[date.month - 1]}
        values |= {"year": f"{date.year:04d}", **month}
    return template.format_map(values)


def bare_message_id(message_id: str) -> str:
    """Return the id without its angle brackets."""
    return message_id.strip().removeprefix("<").removesuffix(">")


def _sha1(text: str) -> bytes:
    return hashlib.sha1(text.encode(), usedforsecurity=False).digest()


def _names(template: str) -> list[str]:
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        raise TemplateFaultError("has an unmatched brace") from None
    if any(spec or conversion for _, _, spec, conversion in parts):
        raise TemplateFaultError("a placeholder is a name in braces, and nothing else")
    return [name for _, name, _, _ in parts if name is not None]
