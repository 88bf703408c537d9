"""Shared access signatures, and the entities that they grant access to."""

import base64
import hmac
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from localcloud.servicebus.errors import Unauthorized

# The values in the official emulator's connection string.
DEFAULT_KEY_NAME = "RootManageSharedAccessKey"
DEFAULT_KEY = "SAS_KEY_VALUE"
_FIELDS = ("sr", "sig", "se", "skn")


def entity_path(address: str) -> str:
    """Return the entity of an address, audience or resource URI: lower case, without scheme and host."""
    path = urlsplit(address).path if "://" in address else address
    return path.strip("/").lower()


@dataclass(frozen=True)
class AccessKey:
    name: str = DEFAULT_KEY_NAME
    key: str = DEFAULT_KEY

    def check_token(self, token: str, audience: str, now: float) -> float:
        """Return when the token expires. Raise if it is invalid, expired or for another entity."""
        fields = _fields(token)
        if fields["skn"] != self.name:
            raise Unauthorized(f"There is no shared access key named '{fields['skn']}'.")
        digest = hmac.digest(self.key.encode(), f"{fields['sr']}\n{fields['se']}".encode(), "sha256")
        if not hmac.compare_digest(base64.b64encode(digest), fields["sig"].encode()):
            raise Unauthorized("InvalidSignature: The token has an invalid signature.")
        if not fields["se"].isdigit() or int(fields["se"]) <= now:
            raise Unauthorized("ExpiredToken: The token is expired.")
        granted = entity_path(unquote(fields["sr"]))
        if granted and not covers(granted, entity_path(audience)):
            raise Unauthorized(f"InvalidAudience: The token is for '{granted}'.")
        return float(fields["se"])

    def check_plain(self, name: str, key: str) -> bool:
        return hmac.compare_digest(f"{name}\0{key}".encode(), f"{self.name}\0{self.key}".encode())


def covers(granted: str, wanted: str) -> bool:
    """Return whether a grant covers an entity.

    It also covers paths below it, and the namespace covers everything.
    """
    return not granted or wanted == granted or wanted.startswith(f"{granted}/")


def _fields(token: str) -> dict[str, str]:
    kind, _, rest = token.partition(" ")
    raw = dict(part.partition("=")[::2] for part in rest.split("&"))
    if kind != "SharedAccessSignature" or any(name not in raw for name in _FIELDS):
        raise Unauthorized(
            "MalformedToken: this namespace takes shared access signatures: "
            "SharedAccessSignature sr=...&sig=...&se=...&skn=..."
        )
    # The signature is over the resource as encoded in the token, so `sr` stays encoded.
    return {"sr": raw["sr"], **{name: unquote(raw[name]) for name in ("sig", "se", "skn")}}
