"""Over the real archives: evidence is at its stated place, and every citation verifies."""

from collections import defaultdict
from pathlib import Path

import pytest

from shared.mail.models import ParsedMail
from shared.mail.parse import parse_archive
from shared.summaries.citations import verify_stored
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.markdown import render_markdown
from shared.summaries.models import ContextMessage
from tests.support.discussions import discussion
from tests.support.mail_data import WHY_SKIPPED, archives, open_archive

SMALL = [path for path in archives() if path.stat().st_size < 1_000_000 and path.suffix != ".gz"]
LARGE = [path for path in archives() if path.suffix == ".gz"]


def threads_of(path: Path) -> list[list[ContextMessage]]:
    """Group the archive's messages by their first reference, a sufficient approximation of threads."""
    threads: dict[str, list[ContextMessage]] = defaultdict(list)
    with open_archive(path) as stream:
        for parsed in parse_archive(stream):
            if isinstance(parsed, ParsedMail):
                root = (parsed.references or parsed.in_reply_to or [parsed.node])[0]
                threads[root].append(_letter(parsed))
    return list(threads.values())


def _letter(message: ParsedMail) -> ContextMessage:
    return ContextMessage(
        key=message.message_key,
        message_id=message.node,
        sender_email=message.sender.email,
        text=message.body_normalized,
        sender_name=message.sender.name,
        date=message.date,
        subject=message.subject,
        in_reply_to=message.in_reply_to[0] if message.in_reply_to else None,
    )


def check(path: Path) -> int:
    cited = 0
    for messages in threads_of(path):
        context = discussion(messages, subject=messages[0].subject)
        texts = {message.message_id: message.text for message in messages}
        for position in context.reading.positions:
            place = position.citation
            assert " ".join(texts[place.message_id][place.start : place.end].split()) == place.quote
        summary = ExtractiveSummarizer().summary(context)
        assert (
            verify_stored(summary.citations, {chunk.chunk_id: chunk.text for chunk in context.chunks}) == []
        )
        assert all(claim.is_supported for claim in summary.claims)
        assert render_markdown(summary).startswith("# ")
        cited += len(summary.citations)
    return cited


@pytest.mark.skipif(not SMALL, reason=WHY_SKIPPED)
@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_every_citation_of_a_real_archive_verifies(path: Path) -> None:
    assert check(path)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not LARGE, reason=WHY_SKIPPED)
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.name)
def test_every_citation_of_a_large_archive_verifies(path: Path) -> None:
    assert check(path)
