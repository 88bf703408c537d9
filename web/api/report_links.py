"""A report's Markdown with links where its text names messages by their ids alone."""

import re
from collections.abc import Sequence

from shared.retrieval.links import page_of_mail
from shared.retrieval.read_models import CitationShown

# As shared/domain/summaries/markdown.py writes them: text of mails is escaped there, and holds no tag.
_CITATION = re.compile(r'^(?P<head>(?P<number>\d+)\. <a id="citation-\d+"></a>“.*”) \(.*\)$', re.MULTILINE)


def linked_markdown(markdown: str, cited: Sequence[CitationShown], origin: str) -> str:
    def linked(line: re.Match[str]) -> str:
        number = int(line["number"])
        if not 1 <= number <= len(cited):
            return line[0]
        return f"{line['head']} ({', '.join(_links(cited[number - 1], origin))})"

    return _CITATION.sub(linked, markdown)


def _links(citation: CitationShown, origin: str) -> list[str]:
    places = {"in its thread": citation.page, "the mail": page_of_mail(citation.message_id, citation.quote)}
    return [f"[{words}]({_target(origin + place)})" for words, place in places.items() if place]


def _target(address: str) -> str:
    """A link's target must not end early, nor hold what is markup to some renderers."""
    return re.sub(r"[()<>\\*_~]", lambda found: f"%{ord(found[0]):02X}", address)
