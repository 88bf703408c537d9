"""Summaries of several threads: a source's week, a source's month of consensus, a draft."""

from shared.digests.refreshing import refresh_digest, refresh_due
from shared.digests.scopes import DigestScope, InvalidScopeError, parse_scope
from shared.digests.touching import touch_digests

__all__ = [
    "DigestScope",
    "InvalidScopeError",
    "parse_scope",
    "refresh_digest",
    "refresh_due",
    "touch_digests",
]
