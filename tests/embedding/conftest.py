from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.embedding.encoder import Vectors
from shared.embedding.openvino.build import build_model_folder, locate_package, read_weights
from shared.embedding.openvino.encoder import OpenVinoEncoder
from shared.embedding.openvino.model_folder import Precision


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model, built as at setup."""
    folder = tmp_path_factory.mktemp("model") / "all-MiniLM-L6-v2"
    build_model_folder(folder)
    return folder


@pytest.fixture(scope="session")
def weights() -> Mapping[str, Vectors]:
    return read_weights(locate_package())


@pytest.fixture(scope="session")
def exact(model_folder: Path) -> OpenVinoEncoder:
    return OpenVinoEncoder(model_folder, precision=Precision.FP32)


@pytest.fixture(scope="session")
def small(model_folder: Path) -> OpenVinoEncoder:
    """The model with weights of 8 bits."""
    return OpenVinoEncoder(model_folder, precision=Precision.INT8)
