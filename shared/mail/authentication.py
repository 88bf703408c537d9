"""Check whether the From field is authentic, by the results of the server that the source trusts (RFC 8601).

Any sender can write such a field, so only the first field of that server counts.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    import authres
else:
    authres = lazy("authres")  # Few sources name a server, and the others need no parser.

MAX_RESULTS = 4_000
"""The characters of a field that are kept. A longer field is ignored, because it may be incomplete."""
_QUOTED_SERVER = re.compile(r'\s*"([^"\\\s]{1,200})"')
_SERVER = re.compile(r"[\s;(]")


class SenderCheck(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class _Result(NamedTuple):
    method: str
    result: str
    domains: tuple[str, ...]
    """The domains that the result is about: of the signature, the envelope or the From field."""


def check_sender(trace: Mapping[str, Sequence[str]], authserv_id: str, address: str) -> SenderCheck:
    """Return the check by DMARC, else by DKIM and SPF for the domain of the address. No result is unknown."""
    wanted = authserv_id.strip().lower()
    fields = trace.get("authentication-results", ()) if wanted else ()
    own = next((field for field in map(_plain, fields) if _server(field) == wanted), "")
    domain = address.rpartition("@")[2].lower().rstrip(".")
    return _verdict(_results(own), domain) if own and domain else SenderCheck.UNKNOWN


def _plain(field: str) -> str:
    """Return the field on one line. A quoted server name is written as a token."""
    return _QUOTED_SERVER.sub(r"\1", " ".join(field.split()), count=1)


def _server(field: str) -> str:
    return _SERVER.split(field.lstrip(), maxsplit=1)[0].lower()


def _verdict(results: tuple[_Result, ...], domain: str) -> SenderCheck:
    dmarc = [result for result in results if result.method == "dmarc"]
    if any(result.result == "fail" for result in dmarc):
        return SenderCheck.FAILED
    if any(result.result == "pass" for result in dmarc):
        same = all(domain in result.domains for result in dmarc if result.domains)
        return SenderCheck.PASSED if same else SenderCheck.UNKNOWN
    signed = [result for result in results if result.method == "dkim"]
    sent = [result for result in results if result.method == "spf"]
    # A failed signature of the domain shows a changed or forged mail, whatever other signatures it has.
    if any(result.result == "fail" and _is_for_domain(result, domain, unnamed=True) for result in signed):
        return SenderCheck.FAILED
    if any(result.result == "pass" and _is_for_domain(result, domain) for result in (*signed, *sent)):
        return SenderCheck.PASSED
    failed = any(result.result in {"fail", "softfail", "hardfail"} for result in (*signed, *sent))
    return SenderCheck.FAILED if failed else SenderCheck.UNKNOWN


def _is_for_domain(result: _Result, domain: str, *, unnamed: bool = False) -> bool:
    """Return whether the result is for the domain of the From address, a parent or a subdomain of it."""
    if not result.domains:
        return unnamed
    return any(_are_aligned(domain, named) for named in result.domains)


def _are_aligned(domain: str, named: str) -> bool:
    shorter, longer = sorted((domain, named), key=len)
    return domain == named or ("." in shorter and longer.endswith(f".{shorter}"))


_PROPERTIES = {"dkim": {"d", "i"}, "spf": {"mailfrom"}, "dmarc": {"from"}}


@lru_cache(maxsize=256)
def _results(field: str) -> tuple[_Result, ...]:
    """Return the results of a field, or none if the field is malformed."""
    if len(field) >= MAX_RESULTS:
        return ()
    try:
        header = authres.AuthenticationResultsHeader.parse(f"Authentication-Results: {field}")
    except authres.AuthResError:
        return ()
    except (SyntaxError, ValueError):  # The parser raises these for a malformed field.
        return ()
    return tuple(
        _Result(found.method.lower(), found.result.lower(), _domains(found))
        for found in header.results
        if found.method and found.result
    )


def _domains(found: Any) -> tuple[str, ...]:
    wanted = _PROPERTIES.get(found.method.lower(), ())
    named = [field.value for field in found.properties if field.name.lower() in wanted and field.value]
    return tuple(dict.fromkeys(value.rpartition("@")[2].lower().rstrip(".") for value in named))
