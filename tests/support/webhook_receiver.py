"""The check of a delivery by a receiver of webhooks."""

import hmac
import re

from shared.publishing.webhooks import sign

TOLERANCE_SECONDS = 300
_HEADER = re.compile(r"t=(\d{1,12}),v1=[0-9a-f]{64}")


def verify_signature(
    secret: str, body: bytes, header: str, now: float, tolerance: float = TOLERANCE_SECONDS
) -> bool:
    """Return whether the signature is ours and recent enough."""
    match = _HEADER.fullmatch(header)
    if match is None or abs(now - int(match[1])) > tolerance:
        return False
    return hmac.compare_digest(sign(secret, body, int(match[1])), header)
