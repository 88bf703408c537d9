"""Verify citations. A quote must be in its chunk, verbatim except for white space."""

import re
from collections.abc import Iterable, Mapping, Sequence

from shared.model_reading.evidence import find_words
from shared.models.values import Citation, SentenceCitation
from shared.reading.mails import own_sentences
from shared.summaries.models import Claim, ContextChunk, ContextMessage

MAX_QUOTE_CHARS = 600
_MIN_WORDS = 3
_WORD = re.compile(r"\S+")


def is_long_enough(quote: str, text: str) -> bool:
    """Return whether a quote has three words or is a whole sentence such as "+1"."""
    words = " ".join(quote.split())
    if len(words.split()) >= _MIN_WORDS:
        return True
    return any(
        " ".join(sentence.text.split()).strip(".!") == words.strip(".!")
        for sentence in own_sentences(text, (), 0)
    )


def verified(
    quote: str, chunk: ContextChunk | None, message: ContextMessage | None, relevance: float = 1.0
) -> Citation | None:
    """Return a citation with the exact quote and its offset in the chunk, or None if it is not there."""
    if chunk is None or message is None or chunk.message_key != message.key:
        return None
    found = find_words(quote, chunk.text)
    if found is None or found[1] - found[0] > 2 * MAX_QUOTE_CHARS or not is_long_enough(quote, chunk.text):
        return None
    start, end = found
    return Citation(
        chunk_id=chunk.chunk_id,
        message_id=message.message_id,
        message_key=message.key,
        quote=chunk.text[start:end],
        relevance_score=round(min(max(relevance, 0.0), 1.0), 4),
        offset=start,
    )


def cite(
    evidence: SentenceCitation,
    message: ContextMessage,
    chunks: Iterable[ContextChunk],
    relevance: float = 1.0,
) -> Citation | None:
    """Return a citation of the sentence, or of the longest part within one chunk."""
    quote = _shortened(evidence.quote)
    of_message = [chunk for chunk in chunks if chunk.message_key == message.key]
    for chunk in of_message:
        if citation := verified(quote, chunk, message, relevance):
            return citation
    parts = [
        citation for chunk in of_message if (citation := _longest_part(quote, chunk, message, relevance))
    ]
    return max(parts, key=lambda citation: len(citation.quote), default=None)


def _shortened(quote: str) -> str:
    if len(quote) <= MAX_QUOTE_CHARS:
        return quote
    ends = [match.end() for match in _WORD.finditer(quote) if match.end() <= MAX_QUOTE_CHARS]
    return quote[: ends[-1]] if ends else quote[:MAX_QUOTE_CHARS]


def _longest_part(
    quote: str, chunk: ContextChunk, message: ContextMessage, relevance: float
) -> Citation | None:
    """Cite the part of a sentence at the start or end of this chunk. A chunk can end inside a sentence."""
    words, chunk_words = quote.split(), chunk.text.split()
    for length in range(min(len(words) - 1, len(chunk_words)), _MIN_WORDS, -1):
        if chunk_words[-length:] == words[:length]:
            return verified(" ".join(words[:length]), chunk, message, relevance)
        if chunk_words[:length] == words[-length:]:
            return verified(" ".join(words[-length:]), chunk, message, relevance)
    return None


def supported_only(claims: Iterable[Claim]) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """Return the claims with a verified citation, and the claims without."""
    kept: list[Claim] = []
    rejected: list[Claim] = []
    for claim in claims:
        (kept if claim.is_supported else rejected).append(claim)
    return tuple(kept), tuple(rejected)


def verify_stored(citations: Sequence[Citation], chunk_texts: Mapping[str, str]) -> list[Citation]:
    """Return the invalid citations: the chunk is missing, or the quote is not at its offset."""
    return [citation for citation in citations if not _is_valid(citation, chunk_texts.get(citation.chunk_id))]


def _is_valid(citation: Citation, text: str | None) -> bool:
    if text is None or not citation.quote.strip():
        return False
    if citation.offset is None:
        return find_words(citation.quote, text) is not None
    return text[citation.offset : citation.offset + len(citation.quote)] == citation.quote
