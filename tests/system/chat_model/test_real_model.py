"""A real chat model behind a compatible endpoint: from an archive to a report with verified citations.

`make chat-model` installs the model into its own environment and runs this.
"""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from shared.azure.cosmos.session import Session
from shared.core.ids import scope_id, thread_id
from shared.models.reports import Report, Summary, TokenAccount
from shared.pipeline.event_types import SummarizationRequested
from shared.summaries.citations import verify_stored
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import archive_of, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import ROOT as PROJECT
from tests.support.services import RunningService

PYTHON = os.environ.get("CHAT_MODEL_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs a chat model: make chat-model")
ROOT = thread_id("<m0@example.org>", "list")
THREAD = b"".join(
    [
        mail(0, subject="Require TLS 1.3", body="I propose that we require TLS 1.3 for all new deployments."),
        mail(1, parent=0, body="I support this proposal, as it is simple."),
        mail(2, parent=0, body="I object. Many embedded devices cannot run it."),
    ]
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    process = subprocess.Popen(
        [PYTHON or "", "-m", "tools.chat_model"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.communicate(timeout=30)


async def test_an_archive_becomes_a_report_through_a_real_model(
    cloud: AppCloud, bus_service: RunningService, endpoint: str
) -> None:
    settings = {
        "SUMMARY_BACKEND": "openai",
        "SUMMARY_MODEL": "smollm2",
        "SUMMARY_ENDPOINT": endpoint,
        "SUMMARY_TIMEOUT_SECONDS": "600",
        "SUMMARY_ARCHIVE_TOKENS": "100000",
    }
    asked = SummarizationRequested(
        thread_ids=[ROOT],
        top_k=12,
        llm_backend="openai",
        llm_model="smollm2",
        context_window_tokens=8000,
        prompt_template="consensus-summary-v1",
        content_hashes=["v1"],
    )
    async with mail_in(cloud, bus_service, **settings) as place:
        await place.take_in(THREAD)
        (complete,) = await place.run(SUMMARIZATION, event_of(asked))
        (again,) = await place.run(SUMMARIZATION, event_of(asked))
        await place.run(REPORTING, complete)
        store, archive = place.clients.store, archive_of(THREAD).id
        account = await store.read(TokenAccount, archive, Session())
        summary = await store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        report = await store.read(Report, scope_id(ROOT), Session(), partition=ROOT)
        texts = {chunk["id"]: chunk["text"] for chunk in await place.stored("chunks")}
    assert account.calls == 1
    assert account.used == complete.data.tokens_prompt + complete.data.tokens_completion
    assert complete.data.tokens_completion > 0
    assert again.message_id == complete.message_id
    assert summary.citations
    assert verify_stored(summary.citations, texts) == []
    assert "I object" in summary.content_markdown
    assert report.summary_id == summary.id
    model = summary.reading.model if summary.reading else None
    refused = list(model.refused) if model else "everything"
    print(f"\nby {summary.generated_by}; refused: {refused}; {summary.metadata.notes}")
