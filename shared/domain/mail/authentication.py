"""Whether a mail's sender is who it says, by the one server whose word the source takes (RFC 8601).

Anybody can write an Authentication-Results field, and lists break signatures: only the field of the server
that the source names counts, and of those the first, which that server wrote last.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

_FIELD = "authentication-results"
_COMMENT = re.compile(r"\([^()]{0,500}\)")
_RESULT = re.compile(r"\b(dmarc|dkim|spf|arc)\s*=\s*([a-z]{2,12})\b", re.IGNORECASE)


class SenderCheck(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


def check_sender(trace: Mapping[str, Sequence[str]], authserv_id: str) -> SenderCheck:
    """By DMARC, which compares with the From field; else by DKIM and SPF where both failed."""
    results = _results(trace, authserv_id)
    if not results:
        return SenderCheck.UNKNOWN
    dmarc = results.get("dmarc", {"none"})
    if "pass" in dmarc:
        return SenderCheck.PASSED
    others = results.get("dkim", set()) | results.get("spf", set())
    if "fail" in dmarc or (others and not others & {"pass", "none", "neutral", "temperror"}):
        return SenderCheck.FAILED
    return SenderCheck.PASSED if "pass" in results.get("dkim", set()) else SenderCheck.UNKNOWN


def _results(trace: Mapping[str, Sequence[str]], authserv_id: str) -> dict[str, set[str]]:
    wanted = authserv_id.strip().lower()
    if not wanted:
        return {}
    for value in trace.get(_FIELD, ()):
        server, _, rest = _COMMENT.sub(" ", value).partition(";")
        if server.split()[:1] and server.split()[0].lower() == wanted:
            found: dict[str, set[str]] = {}
            for method, result in _RESULT.findall(rest):
                found.setdefault(method.lower(), set()).add(result.lower())
            return found
    return {}
