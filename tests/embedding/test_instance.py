"""The one embedder of a process."""

import asyncio

import pytest

from shared.core.errors import EncoderStartError
from shared.embedding import instance
from shared.embedding.port import Embedder
from shared.settings.app import Settings


async def test_everybody_who_waits_for_an_embedder_that_does_not_start_is_told_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = []

    async def refuse(_settings: Settings) -> Embedder:
        starts.append(1)
        await asyncio.sleep(0)
        raise EncoderStartError("no model")

    monkeypatch.setattr(instance, "open_embedder", refuse)
    settings = Settings.model_construct(COSMOS_ENDPOINT="", SEARCH_ENDPOINT="")
    waiting = [instance.embedder(settings) for _ in range(3)]
    told = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in told] == [EncoderStartError] * 3
    with pytest.raises(EncoderStartError):
        await instance.embedder(settings)
    assert len(starts) == 2
