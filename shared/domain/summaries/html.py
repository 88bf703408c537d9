"""A summary's Markdown as HTML, with its citations as links."""

import re

from markdown_it import MarkdownIt

_CITATIONS = "<h2>Citations</h2>"


_ANCHOR = re.compile(r"<li>&lt;a id=&quot;(citation-\d{1,5})&quot;&gt;&lt;/a&gt;")


def render_html(markdown: str) -> str:
    """Without any HTML that the Markdown itself may hold, and with links to safe addresses only.

    The anchors that our own Markdown puts before each citation become the ids of its list.
    """
    html = str(MarkdownIt("js-default", {"html": False, "linkify": False}).render(markdown))
    text, heading, citations = html.rpartition(_CITATIONS)
    return text + heading + _ANCHOR.sub(r'<li id="\1">', citations)
