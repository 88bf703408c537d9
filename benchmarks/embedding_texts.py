"""Real texts for the embedding benchmark: chunks of the git archives, and BC3's messages and summaries."""

import gzip
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET  # our own data, not the network's

from tokenizers import Tokenizer

__all__ = ["Bc3", "mail_chunks", "read_bc3"]

CHUNK_TOKENS = 254


def mail_chunks(data: Path, tokenizer_file: Path, count: int) -> list[str]:
    """Return `count` random chunks with a fixed seed: paragraphs of both months, joined up to 254 tokens."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    chunks: list[str] = []
    for name in ("git-2023-12.mbox.gz", "git-2024-01.mbox.gz"):
        raw = gzip.decompress((data / "mail" / name).read_bytes()).decode("utf-8", "replace")
        bodies = [message.partition("\n\n")[2] for message in re.split(r"(?m)^From .*\d{4}$", raw)]
        for body in random.Random(1).sample(bodies, min(len(bodies), count)):
            chunks += _chunks(body, tokenizer)
    return random.Random(2).sample(chunks, count)


def _chunks(body: str, tokenizer: Tokenizer) -> Iterator[str]:
    gathered, tokens = "", 0
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", body)):
        for piece in _pieces(paragraph, tokenizer):
            length = len(tokenizer.encode(piece, add_special_tokens=False).ids)
            if gathered and tokens + length > CHUNK_TOKENS:
                yield gathered
                gathered, tokens = "", 0
            gathered, tokens = (f"{gathered}\n\n{piece}" if gathered else piece), tokens + length
    if gathered:
        yield gathered


def _pieces(paragraph: str, tokenizer: Tokenizer) -> Iterator[str]:
    offsets = tokenizer.encode(paragraph, add_special_tokens=False).offsets
    for start in range(0, len(offsets), CHUNK_TOKENS):
        part = offsets[start : start + CHUNK_TOKENS]
        yield paragraph[part[0][0] : part[-1][1]]


@dataclass(frozen=True)
class Bc3:
    messages: list[str]
    queries: list[tuple[str, set[int]]]  # a summary's sentence, and its source messages


def read_bc3(data: Path) -> Bc3:
    messages: list[str] = []
    position: dict[tuple[str, str], int] = {}
    for thread in ET.parse(data / "bc3" / "corpus-dev.xml").iter("thread"):  # noqa: S314 - see the import
        for document in thread.iter("DOC"):
            sentences = list(document.iter("Sent"))
            for sentence in sentences:
                position[_text(thread, "listno"), sentence.get("id", "")] = len(messages)
            messages.append(" ".join((sentence.text or "").strip() for sentence in sentences))
    queries = []
    for thread in ET.parse(data / "bc3" / "annotation-dev.xml").iter("thread"):  # noqa: S314
        for sentence in (sentence for summary in thread.iter("summary") for sentence in summary.iter("sent")):
            links = [link.strip() for link in sentence.get("link", "").split(",")]
            sources = {position.get((_text(thread, "listno"), link), -1) for link in links} - {-1}
            if sources and sentence.text:
                queries.append((sentence.text.strip(), sources))
    return Bc3(messages, queries)


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(name) or "").strip()
