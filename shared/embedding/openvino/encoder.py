"""The default encoder: all-MiniLM-L6-v2 on OpenVINO, without torch."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from shared.core.child_processes import available_cores
from shared.embedding.encoder import (
    Vectors,
    clean_for_tokenizer,
    plan_batches,
    report_truncated,
    require_texts,
)
from shared.embedding.openvino.graph import ov
from shared.embedding.openvino.model_folder import (
    TOKENIZER,
    Manifest,
    ModelFolderError,
    Precision,
    graph_files,
    multiplies_bfloat16,
)


class WordPieces:
    def __init__(self, file: Path, window: int) -> None:
        self.window = window
        self._tokenizer = Tokenizer.from_file(str(file))
        # The tokenizer file always pads to 128 tokens. The model's window is different.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def ids(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Return each text's ids, cut to the window with the end marker kept, and the full lengths."""
        encodings = self._tokenizer.encode_batch_fast([clean_for_tokenizer(text) for text in texts])
        whole = [encoding.ids for encoding in encodings]
        cut = [ids if len(ids) <= self.window else [*ids[: self.window - 1], ids[-1]] for ids in whole]
        return cut, [len(ids) for ids in whole]


log = logging.getLogger(__name__)

BACKEND = "openvino"
# Larger groups are faster. With 192, very short texts fall below 0.998 (docs/evidence.md).
QUANTISATION_GROUP = 128
# The batch sizes that fit the caches best: activations are small in int8 and large in fp32.
_TOKEN_BUDGETS = {Precision.INT8: 1024, Precision.FP32: 512}
# The least similarity of the probe's vector to the exact vector.
_FAITHFUL = {Precision.INT8: 0.99, Precision.FP32: 0.9999}


_REMEDY = (
    "For all hosts, use a folder with fp32 alone: "
    "python -m shared.embedding.openvino.build --fp32 --out FOLDER (docs/embedding.md)"
)


class UnfaithfulGraphError(ModelFolderError):
    """The graph computes wrong vectors on this processor."""


class OpenVinoEncoder:
    backend = BACKEND

    def __init__(self, folder: Path | str, precision: str | None = None) -> None:
        """Load from a model folder, by default with the fastest precision on this processor."""
        self._folder = Path(folder)
        self._manifest = Manifest.read(self._folder)
        self.model = self._manifest.model
        self.dimension = self._manifest.dimension
        self.window = self._manifest.window
        self._words = WordPieces(self._manifest.checked(self._folder, TOKENIZER), self.window)
        self.precision = Precision(precision) if precision else self._manifest.precision()
        self._load()
        self.token_budget = _TOKEN_BUDGETS[self.precision]

    def _load(self) -> None:
        """Load the graph. A wrong result here is an error, so that an index never mixes two precisions."""
        graph, weights = (self._manifest.checked(self._folder, name) for name in graph_files(self.precision))
        try:
            compiled = compile_graph(ov.Core().read_model(graph, weights), self.precision)
            self._request = compiled.create_infer_request()
            ids, _ = self._words.ids([self._manifest.probe_text])
            similarity = float(self._infer(ids)[0] @ np.array(self._manifest.probe_vector, np.float32))
        except RuntimeError as error:
            raise UnfaithfulGraphError(
                f"{self.precision} does not work on this processor ({error}). {_REMEDY}"
            ) from error
        if not similarity >= _FAITHFUL[self.precision]:  # Written so that NaN fails, too.
            found = f"{self.precision} gives wrong vectors on this processor (cosine {similarity:.4f})"
            raise UnfaithfulGraphError(f"{found}. {_REMEDY}")
        log.info("the encoder computes with %s", self.precision)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._words.ids(texts)[1]

    def tokenizer(self) -> str:
        return self._manifest.checked(self._folder, TOKENIZER).read_text(encoding="utf-8")

    def encode(self, texts: Sequence[str]) -> Vectors:
        require_texts(texts)
        vectors: Vectors = np.empty((len(texts), self.dimension), np.float32)
        ids, counts = self._words.ids(texts)
        plan = plan_batches(counts, budget=self.token_budget, window=self.window)
        report_truncated(plan.truncated, len(texts), self.window)
        for batch in plan.batches:
            vectors[list(batch)] = self._infer([ids[position] for position in batch])
        return vectors

    def _infer(self, ids: Sequence[Sequence[int]]) -> Vectors:
        shape = len(ids), max(len(row) for row in ids)
        padded, mask = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1.0
        vectors: Vectors = self._request.infer({"ids": padded, "mask": mask})["vectors"]
        return vectors


def compile_graph(graph: ov.Model, precision: Precision) -> ov.CompiledModel:
    # Between int8 products, bfloat16 loses less precision than the bytes do. fp32 stays exact.
    halved = precision is Precision.INT8 and multiplies_bfloat16()
    options = {
        "PERFORMANCE_HINT": "LATENCY",  # One batch at a time on all cores.
        "INFERENCE_NUM_THREADS": available_cores(),
        "INFERENCE_PRECISION_HINT": "bf16" if halved else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": QUANTISATION_GROUP,  # Affects int8 weights only.
    }
    return ov.Core().compile_model(graph, "CPU", options)
