"""Signatures of what is sent: HMAC-SHA256 over the time and the body, so that neither can be changed.

X-Rough-Consensus-Signature: t=1700000000,v1=<hex of HMAC-SHA256(secret, "1700000000." + body)>
"""

import hashlib
import hmac
import re

TOLERANCE_SECONDS = 300
_HEADER = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def sign(secret: str, body: bytes, at: int) -> str:
    return f"t={at},v1={_digest(secret, body, at)}"


def verify_signature(
    secret: str, body: bytes, header: str, now: float, tolerance: float = TOLERANCE_SECONDS
) -> bool:
    """What a receiver does: the signature is ours, and not older than the tolerance."""
    match = _HEADER.fullmatch(header)
    if match is None or abs(now - int(match[1])) > tolerance:
        return False
    return hmac.compare_digest(_digest(secret, body, int(match[1])), match[2])


def _digest(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
