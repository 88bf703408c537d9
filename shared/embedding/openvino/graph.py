"""Build BERT with mean pooling and normalization as an OpenVINO graph, from its weights.

Inputs are `ids` [texts, tokens] and `mask` (1.0 for a token, 0.0 for padding). The output is a normalized
vector for each text. In int8, all weights of products are bytes with a zero point and a scale for each row,
and OpenVINO quantizes the activations at run time.
"""

import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shared.embedding.encoder import Vectors
from shared.embedding.openvino.model_folder import Precision

# OpenVINO is imported only here. Its model converter would report the import to Google Analytics from a
# forked process, which can block in a process with threads.
if "openvino" not in sys.modules:
    unwanted: dict[str, Any] = {"openvino.tools.ovc": None, "openvino_telemetry": None}
    sys.modules.update(unwanted)

import openvino as ov
from openvino import opset13 as op

__all__ = ["HIDDEN", "WINDOW", "build_graph", "ov", "quantised"]

_MASKED = np.float32(-1e9)
Bytes: TypeAlias = NDArray[np.uint8]
Node: TypeAlias = Any  # OpenVINO's nodes and outputs are untyped.


LAYERS, HEADS, HIDDEN, WINDOW, EPSILON = 6, 12, 384, 256, 1e-12
"""The dimensions of all-MiniLM-L6-v2."""


def build_graph(weights: Mapping[str, Vectors], precision: Precision) -> ov.Model:
    graph = _Graph(weights, precision)
    ids, mask = _input("ids", ov.Type.i32), _input("mask", ov.Type.f32)
    unmasked = op.multiply(op.subtract(op.constant(np.float32(1.0)), mask), _constant(_MASKED))
    attention_mask = op.unsqueeze(unmasked, _axes(1, 2))
    state = graph.embeddings(ids)
    for layer in range(LAYERS):
        state = graph.layer(state, attention_mask, f"encoder.layer.{layer}.")
    result = op.result(_mean_normalised(state, mask))
    result.output(0).set_names({"vectors"})
    return ov.Model([result], [ids, mask], "sentence_encoder")


def quantised(weight: Vectors) -> tuple[Bytes, Bytes, Vectors]:
    """Return weights as bytes, and the zero point and scale of each row."""
    low = np.minimum(weight.min(axis=1, keepdims=True), 0.0)
    high = np.maximum(weight.max(axis=1, keepdims=True), 0.0)
    scale = np.maximum((high - low) / 255, np.finfo(np.float32).tiny)
    zero = np.round(-low / scale)
    values = np.clip(np.round(weight / scale) + zero, 0, 255)
    return values.astype(np.uint8), zero.astype(np.uint8), scale.astype(np.float32)


class _Graph:
    def __init__(self, weights: Mapping[str, Vectors], precision: Precision) -> None:
        self._weights = weights
        self._precision = precision

    def embeddings(self, ids: Node) -> Node:
        words = self._weight("embeddings.word_embeddings")
        # There is only one segment, so its embedding is added to every position.
        positions = self._weights["embeddings.position_embeddings.weight"][:WINDOW]
        positions = positions + self._weights["embeddings.token_type_embeddings.weight"][0]
        length = op.gather(op.shape_of(ids, "i64"), _axes(1), op.constant(np.int64(0)))
        used = op.slice(_constant(positions), _axes(0), length, _axes(1), _axes(0))
        state = op.add(op.gather(words, ids, op.constant(np.int64(0))), op.unsqueeze(used, _axes(0)))
        return self._layer_norm(state, "embeddings.LayerNorm")

    def layer(self, state: Node, mask: Node, name: str) -> Node:
        query, key, value = (
            self._heads(self._linear(state, f"{name}attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        attended = op.transpose(op.scaled_dot_product_attention(query, key, value, mask), _axes(0, 2, 1, 3))
        joined = op.reshape(attended, _axes(0, 0, HIDDEN), special_zero=True)
        projected = self._linear(joined, f"{name}attention.output.dense")
        state = self._layer_norm(op.add(projected, state), f"{name}attention.output.LayerNorm")
        inner = op.gelu(self._linear(state, f"{name}intermediate.dense"), "erf")
        outer = self._linear(inner, f"{name}output.dense")
        return self._layer_norm(op.add(outer, state), f"{name}output.LayerNorm")

    def _heads(self, state: Node) -> Node:
        split = op.reshape(state, _axes(0, 0, HEADS, HIDDEN // HEADS), special_zero=True)
        return op.transpose(split, _axes(0, 2, 1, 3))

    def _linear(self, state: Node, name: str) -> Node:
        product = op.matmul(state, self._weight(name), transpose_a=False, transpose_b=True)
        return op.add(product, self._row(f"{name}.bias"))

    def _layer_norm(self, state: Node, name: str) -> Node:
        normal = op.mvn(state, _axes(2), True, EPSILON, "inside_sqrt")  # noqa: FBT003 - opset
        return op.add(op.multiply(normal, self._row(f"{name}.weight")), self._row(f"{name}.bias"))

    def _weight(self, name: str) -> Node:
        weight = self._weights[f"{name}.weight"]
        if self._precision is Precision.FP32:
            return _constant(weight)
        values, zero, scale = quantised(weight)
        centred = op.subtract(op.convert(_constant(values), "f32"), op.convert(_constant(zero), "f32"))
        return op.multiply(centred, _constant(scale))

    def _row(self, name: str) -> Node:
        return _constant(self._weights[name].reshape(1, 1, -1))


def _mean_normalised(state: Node, mask: Node) -> Node:
    weight = op.unsqueeze(mask, _axes(2))
    total = op.reduce_sum(op.multiply(state, weight), _axes(1), keep_dims=False)
    mean = op.divide(total, op.reduce_sum(weight, _axes(1), keep_dims=False))
    return op.normalize_l2(mean, _axes(1), 1e-24, "max")


def _input(name: str, kind: ov.Type) -> Node:
    parameter = op.parameter([-1, -1], kind, name=name)
    parameter.output(0).set_names({name})
    return parameter


def _constant(value: Any) -> Node:
    return op.constant(np.ascontiguousarray(value))


def _axes(*values: int) -> Node:
    return op.constant(np.array(values, np.int64))
