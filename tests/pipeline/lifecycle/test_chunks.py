from typing import Any

import pytest

from shared.pipeline.lifecycle.chunks import is_settled
from tests.support.documents import new_chunk


@pytest.mark.parametrize(
    ("state", "settled"),
    [
        ({}, False),
        ({"embedding_generated": True, "embedding_model": "now", "status": "processed"}, True),
        # Another model's vector is of no use to this model's index.
        ({"embedding_generated": True, "embedding_model": "before", "status": "processed"}, False),
        ({"embedding_generated": False, "embedding_model": "now"}, False),
        ({"status": "failed_max_retries"}, True),
    ],
)
def test_a_chunk_is_settled_when_this_model_embedded_it_or_it_was_given_up(
    state: dict[str, Any], settled: bool
) -> None:
    assert is_settled(new_chunk(**state), "now") is settled
