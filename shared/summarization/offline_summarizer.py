"""The extractive summarizer behind the asynchronous port, in a thread of its own."""

import asyncio
from dataclasses import dataclass, field

from shared.domain.summaries.extractive import ExtractiveSummarizer
from shared.domain.summaries.models import ThreadContext, ThreadSummary


@dataclass(frozen=True)
class OfflineSummarizer:
    extractive: ExtractiveSummarizer = field(default_factory=ExtractiveSummarizer)

    @property
    def name(self) -> str:
        return self.extractive.name

    async def summarize(self, context: ThreadContext) -> ThreadSummary:
        # A long discussion takes its time to read, and the event loop has others to serve.
        return await asyncio.to_thread(self.extractive.summary, context)
