"""BERT in plain numpy: an independent reference for the graph, and a model of its int8 arithmetic."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Product = Callable[[Floats, Floats], Floats]  # (rows, weight [out, in]) -> rows @ weight.T


def exact_product(rows: Floats, weight: Floats) -> Floats:
    return rows @ weight.T


def bytes_product(group: int) -> Product:
    """Quantize dynamically: rows become bytes, too, with one scale for each `group` columns."""

    def product(rows: Floats, weight: Floats) -> Floats:
        grouped = rows.reshape(len(rows), -1, min(group, rows.shape[1]))
        scale = np.maximum(np.abs(grouped).max(axis=2, keepdims=True) / 127, 1e-12)
        rounded: Floats = (np.round(grouped / scale) * scale).reshape(rows.shape).astype(np.float32)
        return rounded @ weight.T

    return product


def encode(
    weights: Mapping[str, Floats], ids: Sequence[int], *, heads: int = 12, product: Product = exact_product
) -> Floats:
    """Return the normalized vector of one text."""
    words = weights["embeddings.word_embeddings.weight"][list(ids)]
    positions = weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = words + positions + weights["embeddings.token_type_embeddings.weight"][0]
    state = _layer_norm(state, weights, "embeddings.LayerNorm")
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        state = _layer(state, weights, f"encoder.layer.{layer}.", heads, product)
        layer += 1
    mean = state.mean(axis=0)
    vector: Floats = (mean / np.linalg.norm(mean)).astype(np.float32)
    return vector


def _layer(state: Floats, weights: Mapping[str, Floats], name: str, heads: int, product: Product) -> Floats:
    def linear(rows: Floats, part: str) -> Floats:
        return product(rows, weights[f"{name}{part}.weight"]) + weights[f"{name}{part}.bias"]

    def split(rows: Floats) -> Floats:
        return rows.reshape(len(rows), heads, -1).transpose(1, 0, 2)

    query, key, value = (split(linear(state, f"attention.self.{part}")) for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[2])
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    attended = (scores / scores.sum(axis=2, keepdims=True)) @ value
    joined = attended.transpose(1, 0, 2).reshape(state.shape).astype(np.float32)
    projected = linear(joined, "attention.output.dense")
    state = _layer_norm(projected + state, weights, f"{name}attention.output.LayerNorm")
    inner = linear(state, "intermediate.dense")
    inner = (inner * 0.5 * (1 + _erf(inner / np.sqrt(2)))).astype(np.float32)
    return _layer_norm(linear(inner, "output.dense") + state, weights, f"{name}output.LayerNorm")


def _erf(values: Floats) -> Floats:
    """Abramowitz and Stegun 7.1.26, accurate to 1.5e-7. math.erf takes only one number at a time."""
    t = 1 / (1 + 0.3275911 * np.abs(values))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    result: Floats = (np.sign(values) * (1 - series * np.exp(-(values**2)))).astype(np.float32)
    return result


def _layer_norm(state: Floats, weights: Mapping[str, Floats], name: str) -> Floats:
    centred = state - state.mean(axis=-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    scaled: Floats = (normal * weights[f"{name}.weight"] + weights[f"{name}.bias"]).astype(np.float32)
    return scaled
