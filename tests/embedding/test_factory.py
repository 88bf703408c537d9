import os
import signal
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from shared.core.errors import EncoderStartError
from shared.embedding.factory import encoder_spec, open_embedder
from shared.embedding.openvino.build import locate_package
from shared.embedding.openvino.encoder import OpenVinoEncoder
from shared.embedding.process.embedder import EncoderProcess
from shared.settings.app import load_settings
from tests.settings.test_app import LOCAL

TEXTS = ["We have rough consensus.", "", "-1, this breaks my build", "word " * 400]


async def test_the_default_embedder_gives_the_vectors_of_its_encoder_and_survives_kill_9(
    model_folder: Path, exact: OpenVinoEncoder
) -> None:
    settings = load_settings({**LOCAL, "EMBEDDING_MODEL_PATH": str(model_folder)})
    spec = encoder_spec(settings)
    spec = replace(spec, arguments={**spec.arguments, "precision": "fp32"})  # exact on any processor
    embedder = await EncoderProcess.start(spec)
    try:
        assert (embedder.model, embedder.backend) == ("all-MiniLM-L6-v2", "openvino")
        assert (embedder.dimension, embedder.window, embedder.token_budget) == (384, 256, 512)
        np.testing.assert_allclose(await embedder.encode(TEXTS), exact.encode(TEXTS), atol=1e-5)
        assert await embedder.count_tokens(TEXTS) == exact.count_tokens(TEXTS)
        os.kill(embedder.pid or 0, signal.SIGKILL)
        np.testing.assert_allclose(await embedder.encode(TEXTS), exact.encode(TEXTS), atol=1e-5)
        assert embedder.restarts == 1
    finally:
        await embedder.close()


async def test_a_missing_model_is_an_error_that_says_how_to_make_it(tmp_path: Path) -> None:
    settings = load_settings({**LOCAL, "EMBEDDING_MODEL_PATH": str(tmp_path)})
    with pytest.raises(EncoderStartError, match=r"python -m shared\.embedding\.openvino\.build"):
        await open_embedder(settings)


@pytest.mark.skipif(
    find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed"
)
async def test_sentence_transformers_that_is_not_installed_names_the_file_to_install() -> None:
    settings = load_settings({**LOCAL, "EMBEDDING_BACKEND": "sentence-transformers"})
    with pytest.raises(EncoderStartError, match=r"pip install -r requirements-sentence-transformers\.txt"):
        await open_embedder(settings)


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="it is not installed")
async def test_sentence_transformers_gives_the_same_vectors_from_the_same_weights(
    exact: OpenVinoEncoder,
) -> None:
    chosen = {"EMBEDDING_BACKEND": "sentencetransformers", "EMBEDDING_MODEL_PATH": str(locate_package())}
    embedder = await open_embedder(load_settings({**LOCAL, **chosen}))
    try:
        assert (embedder.backend, embedder.dimension, embedder.window) == ("sentencetransformers", 384, 256)
        np.testing.assert_allclose(await embedder.encode(TEXTS), exact.encode(TEXTS), atol=1e-4)
    finally:
        await embedder.close()


def test_the_settings_reach_the_encoder() -> None:
    chosen = {
        "EMBEDDING_BACKEND": "sentencetransformers",
        "EMBEDDING_MODEL": "intfloat/e5-small-v2",
        "EMBEDDING_MODEL_PATH": "elsewhere",
    }
    spec = encoder_spec(load_settings({**LOCAL, **chosen}))
    assert spec.factory == "shared.embedding.sentence_transformer:SentenceTransformerEncoder"
    assert spec.arguments == {
        "model": "intfloat/e5-small-v2",
        "path": "elsewhere",
    }
