"""The title of a summary: the thread's subject, without what mailers and lists put before it."""

import re

from shared.domain.summaries.models import ThreadContext

_PREFIX = re.compile(
    r"^\s*(?:(?:re|fwd?|aw|wg|sv|antw|tr)\s*(?:\[\d+\])?\s*:|\[[^\]\n]{1,40}\](?=\s*\S))\s*", re.IGNORECASE
)
_MAX_CHARS = 200


def summary_title(context: ThreadContext) -> str:
    title = " ".join(context.subject.split())[: 4 * _MAX_CHARS]
    while (shorter := _PREFIX.sub("", title, count=1)) != title:
        title = shorter
    return title[:_MAX_CHARS].strip() or "(no subject)"
