"""Reads a chat model's answer: tolerant of its form, strict about its quotes."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.domain.summaries.citations import verified
from shared.domain.summaries.models import Claim, ContextChunk, ContextMessage, Section

_MAX_ANSWER_CHARS = 200_000
_MAX_OBJECTS = 400
_MAX_CLAIMS = 50
_MAX_CITATIONS = 5
_MAX_CLAIM_CHARS = 500
_DEEPEST = 12
_NESTING = re.compile(r"[\[{]")
_SECTIONS = {section.value.replace(" ", ""): section for section in Section} | {
    "agreement": Section.AGREED,
    "consensus": Section.AGREED,
    "support": Section.AGREED,
    "disagreement": Section.DISSENT,
    "objection": Section.DISSENT,
    "objections": Section.DISSENT,
    "decision": Section.DECISIONS,
    "proposal": Section.PROPOSALS,
    "openissue": Section.OPEN_ISSUES,
    "keypoint": Section.KEY_POINTS,
}


def parse_claims(
    answer: str, chunks: Mapping[str, ContextChunk], messages: Mapping[str, ContextMessage]
) -> list[Claim]:
    """The claims of an answer; one of whose quotes none is found has no citation, and so is not supported."""
    claims: dict[str, Claim] = {}
    for entry in _entries(answer[:_MAX_ANSWER_CHARS]):
        claim = _claim(entry, chunks, messages)
        if claim is not None:
            claims.setdefault(claim.text, claim)
        if len(claims) == _MAX_CLAIMS:
            break
    return list(claims.values())


def _entries(answer: str) -> Iterator[dict[str, Any]]:
    """The claim objects in an answer: inside fences, after chatter, or before it was cut off."""
    decoder, position, objects = json.JSONDecoder(), 0, 0
    while (opening := _NESTING.search(answer, position)) and objects < _MAX_OBJECTS:
        objects += 1
        try:
            value, position = decoder.raw_decode(answer, opening.start())
        except (json.JSONDecodeError, RecursionError):
            position = opening.end()  # what cannot be read is looked into: the claims in it may be whole
            continue
        yield from _claims_in(value)


def _claims_in(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        if _text(value):
            yield value
            return
        for inner in value.values():
            yield from _claims_in(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _claims_in(inner, depth + 1)


def _text(entry: dict[str, Any]) -> str:
    # A citation has a quote of its own and may have a text; it is no claim.
    if "quote" in entry and not any(name in entry for name in ("section", "claim", "citations")):
        return ""
    if not any(name in entry for name in ("citations", "citation", "quotes", "quote", "section")):
        return ""
    for name in ("text", "claim", "statement"):
        if isinstance(entry.get(name), str) and entry[name].strip():
            return " ".join(entry[name].split())[:_MAX_CLAIM_CHARS]
    return ""


def _claim(
    entry: dict[str, Any], chunks: Mapping[str, ContextChunk], messages: Mapping[str, ContextMessage]
) -> Claim | None:
    section = _SECTIONS.get(re.sub(r"[\s_-]", "", str(entry.get("section", ""))).lower(), Section.KEY_POINTS)
    wanted = list(_citations(entry))
    found = [
        verified(quote, chunk, messages.get(chunk.message_key)) if (chunk := chunks.get(name)) else None
        for name, quote in wanted
    ]
    # One invented quote discredits the claim it stands under, whatever else it cites.
    kept = [citation for citation in found if citation is not None]
    citations = tuple({(c.chunk_id, c.quote): c for c in kept}.values()) if len(kept) == len(found) else ()
    return Claim(_text(entry), section, citations)


def _citations(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    raw = entry.get("citations", entry.get("citation", entry.get("quotes", entry)))
    for one in (raw if isinstance(raw, list) else [raw])[:_MAX_CITATIONS]:
        if isinstance(one, dict):
            name = one.get("chunk", one.get("chunk_id", one.get("id", entry.get("chunk", ""))))
            yield str(name).strip("[]<> "), str(one.get("quote", one.get("text", "")))
        else:
            yield str(entry.get("chunk", "")), str(one)
