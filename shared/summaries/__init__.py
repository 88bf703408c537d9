"""Summaries of threads: every claim is cited, every citation verified. Pure, but for asking a chat model."""

from shared.summaries.budget import TokenBudget
from shared.summaries.chat import ChatSettings, ChatSummarizer
from shared.summaries.chat_client import ChatEndpoint, open_chat_client
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
    "ChatEndpoint",
    "ChatSettings",
    "ChatSummarizer",
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
    "open_chat_client",
    "render_markdown",
    "select_context",
    "verify_stored",
]
