"""Is a local service well? One small HTTP request, over TLS where the service speaks it."""

import asyncio
import ssl
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 3.0


async def is_healthy(url: str, *, ca: Path | None = None) -> bool:
    """Whether the service answers. A refusal for want of credentials is an answer too."""
    try:
        status = await asyncio.wait_for(_status(url, ca), TIMEOUT_SECONDS)
    except (OSError, TimeoutError, ValueError):
        return False
    return status < 500  # noqa: PLR2004 - the HTTP class of server errors


async def _status(url: str, ca: Path | None) -> int:
    parts = urlsplit(url)
    tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=tls)
    try:
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        line = await reader.readline()
        return int(line.split()[1]) if line.startswith(b"HTTP/1.") else 599
    finally:
        writer.close()
