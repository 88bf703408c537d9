"""Summaries of threads: every claim is cited, every citation verified. Pure, but for asking a chat model.

The chat model's part is imported by itself (`shared.summaries.chat`): its SDK takes a second to import.
"""

from shared.summaries.budget import TokenBudget
from shared.summaries.citations import find_quote, verify_stored
from shared.summaries.context import Selection, select_context
from shared.summaries.extractive import ExtractiveSummarizer, Lengths
from shared.summaries.markdown import escape_markdown, render_markdown
from shared.summaries.models import (
    Citation,
    Claim,
    ContextChunk,
    ContextMessage,
    Embed,
    Section,
    Summarizer,
    ThreadContext,
    ThreadSummary,
)

__all__ = [
    "Citation",
    "Claim",
    "ContextChunk",
    "ContextMessage",
    "Embed",
    "ExtractiveSummarizer",
    "Lengths",
    "Section",
    "Selection",
    "Summarizer",
    "ThreadContext",
    "ThreadSummary",
    "TokenBudget",
    "escape_markdown",
    "find_quote",
    "render_markdown",
    "select_context",
    "verify_stored",
]
