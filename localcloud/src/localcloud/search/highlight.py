"""Highlights: the sentences of a field that match the query, with tags around the matching words."""

import re
from typing import Any

from localcloud.search.analysis import ANALYZERS, Analyzer, Token
from localcloud.search.fields import Field
from localcloud.search.scoring import Compiled, PrefixMatch, TermMatch, leaves
from localcloud.search.segment import texts_of

# A period inside a word or number, such as 3.11, does not end a sentence.
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?]+(?![\s.!?]|$))+(?:[.!?]+(?=\s|$)|\n|$)?\s*|[.!?\n]+\s*")
MAX_FRAGMENT = 1000


def highlights(
    document: dict[str, Any],
    query: Compiled,
    wanted: dict[str, int],
    fields: dict[str, Field],
    tags: tuple[str, str],
) -> dict[str, list[str]]:
    """Return the highlighted fragments of each requested field that has matches."""
    result = {}
    for name, most in wanted.items():
        matchers = [leaf for leaf in leaves(query) if leaf.field == name]
        analyzer = ANALYZERS[fields[name].analyzer]
        fragments: list[str] = []
        for text in texts_of(document, name) if matchers else ():
            fragments += _fragments(text, analyzer, matchers, tags)
        if fragments[:most]:
            result[name] = fragments[:most]
    return result


def _fragments(
    text: str, analyzer: Analyzer, matchers: list[TermMatch | PrefixMatch], tags: tuple[str, str]
) -> list[str]:
    marked = _matching(analyzer.tokens(text), matchers)
    if not marked:
        return []
    if len(text) <= MAX_FRAGMENT and "\n" not in text and _SENTENCE.fullmatch(text):
        return [_mark(text, 0, len(text), marked, tags)]
    fragments = []
    for match in _SENTENCE.finditer(text):
        inside = [token for token in marked if match.start() <= token.start < match.end()]
        if inside:
            end = max(match.start() + len(match[0].rstrip()), inside[-1].end)
            fragments.append(_mark(text, match.start(), end, inside, tags).strip())
    return fragments


def _matching(tokens: list[Token], matchers: list[TermMatch | PrefixMatch]) -> list[Token]:
    by_position = {token.position: token for token in tokens}
    found: dict[int, Token] = {}
    for matcher in matchers:
        for token in tokens:
            if isinstance(matcher, PrefixMatch):
                if token.term.startswith(matcher.prefix):
                    found[token.position] = token
                continue
            places = [token.position + offset for offset, _ in matcher.terms]
            words = [by_position[place].term if place in by_position else None for place in places]
            if words == [term for _, term in matcher.terms]:
                found.update({place: by_position[place] for place in places})
    return [found[position] for position in sorted(found)]


def _mark(text: str, start: int, end: int, tokens: list[Token], tags: tuple[str, str]) -> str:
    pieces, at = [], start
    for token in tokens:
        pieces += [text[at : token.start], tags[0], text[token.start : token.end], tags[1]]
        at = token.end
    return "".join([*pieces, text[at:end]])
