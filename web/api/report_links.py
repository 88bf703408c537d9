"""A report's Markdown with links where its text names messages by their ids alone."""

import re
from collections.abc import Sequence

from shared.documents.reports import Summary
from shared.retrieval.parameters import page_of_mail
from shared.retrieval.read_models import CitationShown
from web.formatting import markdown_target
from web.position_changes import changes_in_markdown

# As shared/domain/summaries/markdown.py writes them: text of mails is escaped there, and holds no tag.
_CITATION = re.compile(r'^(?P<head>(?P<number>\d+)\. <a id="citation-\d+"></a>“.*”) \(.*\)$', re.MULTILINE)


_CITATIONS = "## Citations\n"


def linked_markdown(summary: Summary, cited: Sequence[CitationShown], origin: str) -> str:
    """With who changed their mind, before the citations: the text of mails is escaped, and is no heading."""

    def linked(line: re.Match[str]) -> str:
        number = int(line["number"])
        if not 1 <= number <= len(cited):
            return line[0]
        return f"{line['head']} ({', '.join(_links(cited[number - 1], origin))})"

    text, heading, rest = _CITATION.sub(linked, summary.content_markdown).rpartition(_CITATIONS)
    changes = changes_in_markdown(summary, origin) if heading else ""
    return f"{text}{changes}{heading}{rest}"


def _links(citation: CitationShown, origin: str) -> list[str]:
    places = {"in the thread": citation.page, "the mail": page_of_mail(citation.message_id, citation.quote)}
    return [f"[{words}]({markdown_target(origin + place)})" for words, place in places.items() if place]
