"""Makes an encoder inside its process, from the values of an EncoderSpec."""

from pathlib import Path

from shared.embedding.encoder import Encoder
from shared.embedding.openvino.cpu import Precision


def load_openvino(
    folder: str, precision: str = "auto", threads: int | None = None, token_budget: int | None = None
) -> Encoder:
    from shared.embedding.openvino.encoder import OpenVinoEncoder  # noqa: PLC0415 - only the encoder that is used

    chosen = None if precision == "auto" else Precision(precision)
    return OpenVinoEncoder(Path(folder), precision=chosen, threads=threads, token_budget=token_budget)
