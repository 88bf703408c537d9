"""The site's own address, for links that leave it and for those that are shown to be copied."""

from urllib.parse import urlsplit

import azure.functions as func

from shared.settings.app import Settings


def origin_of(req: func.HttpRequest, settings: Settings) -> str:
    """PUBLIC_URL; without one, the address under which this client knows the site."""
    if settings.PUBLIC_URL:
        return settings.PUBLIC_URL.rstrip("/")
    parts = urlsplit(req.url)
    return f"{parts.scheme}://{parts.netloc}"
