"""Summaries with their claims and positions, and the account of the tokens they cost."""

from typing import Any

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime
from shared.documents.readings import StoredReading
from shared.documents.values import Citation, SummaryType


class SummaryClaim(Subdocument):
    text: str
    section: str
    speaker: str = ""  # whose words the text is; empty where it is the summarizer's
    citations: list[int] = Field(min_length=1)  # positions in the summary's citations
    thread_id: str | None = None  # in a summary of several threads


class SummaryStance(Subdocument):
    """Where a person is said to stand, and the sentence that shows it, by its place in body_normalized."""

    message_key: str
    name: str = ""
    email: str = ""
    stance: str
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)
    counts_now: bool = False  # it is this participant's last word


class Summary(Document):
    container = "summaries"
    partition_field = "scope"
    key_field = "summary_id"

    summary_id: str
    scope: str = Field(min_length=1)  # what it is about: a thread's id, a week of a source, a draft
    thread_id: str | None  # None where it is about several threads
    thread_ids: list[str] = []
    summary_type: SummaryType
    title: str
    content_markdown: str
    content_html: str
    citations: list[Citation] = []
    claims: list[SummaryClaim] = []
    stances: list[SummaryStance] = []  # of those who are said to have taken one
    counts: dict[str, int] = {}  # the same people by stance
    reading: StoredReading | None = None  # None in a summary of several threads
    generated_by: str
    generated_at: UtcTime
    content_hash: str | None = None
    prompt_template: str | None = None
    outdated: bool = False  # there is a later one, or its thread is another one now
    metadata: dict[str, Any] = {}


class TokenAccount(Document):
    """What a chat model's reading of one archive has cost; its id is the archive's."""

    container = "token_accounts"

    used: int = 0
    reserved: int = 0
    calls: int = 0
