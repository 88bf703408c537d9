"""Documents that version 0.1 stored are read by this one, and nothing of them is lost when they are written."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.documents.containers import document_class, read_document

STORED = json.loads((Path(__file__).parent / "written_by_0_1.json").read_text())
OF_COSMOS = {"_etag", "_ts"}


def test_there_is_something_of_every_container_that_the_samples_fill() -> None:
    filled = {"archives", "messages", "threads", "chunks", "summaries", "reports", "digests", "thread_index"}
    assert filled <= {container for container, documents in STORED.items() if documents}


@pytest.mark.parametrize(
    ("container", "stored"),
    [(container, document) for container, documents in STORED.items() for document in documents],
    ids=[
        f"{container}-{document['id']}" for container, documents in STORED.items() for document in documents
    ],
)
def test_a_document_of_version_0_1_is_read_and_kept(container: str, stored: dict[str, Any]) -> None:
    document = read_document(document_class(container), stored)
    written = document.to_cosmos()
    lost = {
        field: value
        for field, value in stored.items()
        if field not in OF_COSMOS and written.get(field) != value
    }
    assert lost == {}
