"""A chunk is never longer than the model reads, in the model's own tokens."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from shared.embedding.factory import embedder
from shared.embedding.model_tokens import (
    TokenizerNotFoundError,
    find_tokenizer_file,
    model_tokens,
    of_built_folder,
    of_sentence_folder,
)
from shared.embedding.openvino.build import locate_package
from shared.embedding.openvino.encoder import OpenVinoEncoder
from shared.embedding.openvino.model_folder import Manifest
from shared.embedding.process.embedder import EncoderProcess
from tests.stages.mail_in import mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

WORDS = " ".join(f"word{number} and more." for number in range(400))


def sentence_folder(folder: Path, window: int) -> Path:
    """Create a model of sentence-transformers, as far as chunking reads it."""
    shutil.copy(locate_package() / "tokenizer.json", folder)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": window}))
    return folder


def test_the_default_model_reads_what_its_folder_says(model_folder: Path, exact: OpenVinoEncoder) -> None:
    tokens = of_built_folder(model_folder)
    assert tokens.most == exact.window - 2 == 254
    assert tokens.tokenizer.count(WORDS) == exact.count_tokens([WORDS])[0] - 2


def test_the_deployed_folder_is_enough_and_without_it_the_weights_package_serves(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_tokenizer_file(tmp_path).parent == locate_package()
    assert of_built_folder(tmp_path).most == 254
    monkeypatch.setattr("shared.embedding.openvino.model_folder.PACKAGE", "not-installed-in-azure")
    assert find_tokenizer_file(model_folder) == model_folder / "tokenizer.json"
    with pytest.raises(TokenizerNotFoundError, match="make model"):
        find_tokenizer_file(tmp_path / "other")


def test_a_model_with_another_window_says_so_in_its_folder(model_folder: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    shutil.copy(model_folder / "tokenizer.json", built)
    manifest = Manifest.read(model_folder)
    Manifest(**{**manifest.__dict__, "window": 128}).write(built)
    assert of_built_folder(built).most == 126
    assert of_sentence_folder(built) is None  # the folder does not name the maximum length
    told = of_sentence_folder(sentence_folder(tmp_path, 64))
    assert told is not None
    assert told.most == 62


async def test_no_chunk_is_longer_than_the_model_reads(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    small = {
        "EMBEDDING_BACKEND": "sentencetransformers",
        "EMBEDDING_MODEL_PATH": str(sentence_folder(tmp_path, 40)),
        "CHUNKING_MAX_TOKENS": "500",
    }
    content = mail(0, body=WORDS)
    for settings, most in (({"CHUNKING_MAX_TOKENS": "500"}, 254), (small, 38)):
        async with mail_in(cloud, bus_service, **settings) as place:
            await place.take_in(content)
            counts = [chunk["token_count"] for chunk in await place.stored("chunks")]
            assert len(counts) > 2
            assert most * 0.7 < max(counts) <= most


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="it is not installed")
async def test_a_model_that_only_the_encoder_knows_tells_its_tokenizer_and_its_window(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    whole = tmp_path / "model"
    shutil.copytree(locate_package(), whole)
    (whole / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    named = {"EMBEDDING_BACKEND": "sentencetransformers", "EMBEDDING_MODEL": str(whole)}
    async with mail_in(cloud, bus_service, **named) as place:
        tokens = await model_tokens(place.clients)
        model = await embedder(place.clients)
        assert isinstance(model, EncoderProcess)
        assert (tokens.most, model.window, model.dimension) == (30, 32, 384)
        assert [tokens.tokenizer.count(WORDS) + 2] == await model.count_tokens([WORDS])
        await place.take_in(mail(0, body=WORDS))
        texts = [chunk["text"] for chunk in await place.stored("chunks")]
        settled = await model.encode_each(texts)
        assert (len(texts) > 10, settled.truncated, settled.failed) == (True, (), {})
