"""TLS certificates of a local service: a certificate authority, stored with the data.

Clients trust the authority's certificate, which covers only the services of this data folder. The service's
own certificate is new at each start.
"""

import os
import ssl
from pathlib import Path

import trustme


def server_context(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """Return a server context, and the path of the certificate that clients need."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = folder / "ca.pem", folder / "ca.key"
    if certificate.exists() and key.exists():
        authority = trustme.CA.from_pem(certificate.read_bytes(), key.read_bytes())
    else:
        authority = trustme.CA(organization_name="Rough Consensus local cloud")
        _write(key, authority.private_key_pem.bytes(), 0o600)
        _write(certificate, authority.cert_pem.bytes(), 0o644)
    names = dict.fromkeys(["localhost", "127.0.0.1", "::1", host])
    names.pop("0.0.0.0", None)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    authority.issue_cert(*names).configure_cert(context)
    return context, certificate.resolve()


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file that others can never read, and that is never incomplete."""
    partial = path.with_suffix(path.suffix + ".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    partial.replace(path)
