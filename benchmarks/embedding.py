"""Benchmark of the default embedder against SentenceTransformer.encode with its default options.

    python -m benchmarks.embedding --reference PYTHON --model models/all-MiniLM-L6-v2

PYTHON is an interpreter with sentence-transformers. Both encode the same slices of texts alternately, with
all cores, so that other load affects both. Our side is the app's embedder, including its process and pipe.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.embedding_texts import Bc3, mail_chunks, read_bc3
from shared.embedding.encoder import Vectors
from shared.embedding.openvino.build import locate_package
from shared.embedding.openvino.model_folder import Precision, fastest_precision
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
OURS = ("openvino", "openvino-telemetry", "tokenizers", "numpy", "huggingface-hub", "hf-xet")
COLD = """
import time; started, cpu = time.perf_counter(), time.process_time()
import sys; from pathlib import Path; from shared.embedding.openvino.encoder import OpenVinoEncoder
OpenVinoEncoder(Path(sys.argv[1])).encode(["the first text"])
print(time.perf_counter() - started, time.process_time() - cpu)
"""


@dataclass
class Measured:
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    vectors: list[Vectors] = field(default_factory=list)

    def add(self, other: "Measured") -> None:
        self.seconds += other.seconds
        self.cpu_seconds += other.cpu_seconds
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        self.vectors += other.vectors

    def all(self) -> Vectors:
        return np.concatenate(self.vectors)


class Reference:
    """The interpreter with sentence-transformers."""

    def __init__(self, python: str, folder: Path, scratch: Path) -> None:
        script = ROOT / "benchmarks" / "embedding_reference.py"
        self._process = subprocess.Popen(
            [python, str(script), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._out = scratch / "reference.npy"
        self.cold = self._read()

    def encode(self, texts: list[str]) -> Measured:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"texts": texts, "out": str(self._out)}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        return Measured(answer["seconds"], answer["cpu_seconds"], answer["peak_mb"], [np.load(self._out)])

    def _read(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the reference interpreter ended: does it have sentence-transformers?")
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.communicate()


async def encode_ours(embedder: EncoderProcess, texts: list[str]) -> Measured:
    assert embedder.pid is not None
    child = psutil.Process(embedder.pid)
    before, wall, own = sum(child.cpu_times()[:2]), time.perf_counter(), time.process_time()
    vectors = await embedder.encode(texts)
    seconds = time.perf_counter() - wall
    cpu_seconds = sum(child.cpu_times()[:2]) - before + time.process_time() - own
    return Measured(seconds, cpu_seconds, child.memory_info().rss / 2**20, [vectors])


def recall_agreement(ours: Vectors, theirs: Vectors, count: int = 10) -> float:
    """Return the share of a text's nearest neighbors that both have in common."""

    def nearest(vectors: Vectors) -> Any:
        similarity = vectors @ vectors.T
        np.fill_diagonal(similarity, -2.0)
        return np.argpartition(-similarity, count, axis=1)[:, :count]

    pairs = zip(nearest(ours), nearest(theirs), strict=True)
    return float(np.mean([len(set(mine) & set(reference)) / count for mine, reference in pairs]))


def message_recall(messages: Vectors, queries: Vectors, bc3: Bc3, count: int = 3) -> float:
    """Return how often a source message of a summary's sentence is among the sentence's nearest messages."""
    nearest = np.argsort(-(queries @ messages.T), axis=1)[:, :count]
    found = [bool(set(row) & sources) for row, (_, sources) in zip(nearest, bc3.queries, strict=True)]
    return float(np.mean(found))


def installed_mb(names: tuple[str, ...]) -> float:
    files = [Path(str(file.locate())) for name in names for file in metadata.files(name) or []]
    return sum(file.stat().st_size for file in files if file.exists()) / 2**20


def folder_mb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def site_packages_mb(python: str) -> float:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return folder_mb(Path(found.stdout.strip()))


def spec(model: Path, precision: str) -> EncoderSpec:
    arguments = {"folder": str(model), "precision": precision}
    return EncoderSpec("shared.embedding.openvino.encoder:OpenVinoEncoder", arguments)


async def run(options: argparse.Namespace, scratch: Path) -> None:
    chunks = mail_chunks(options.data, options.model / "tokenizer.json", options.chunks)
    chosen = fastest_precision()
    reference = Reference(options.reference, locate_package(), scratch)
    rows = {precision: Row() for precision in Precision}
    embedders = {
        precision: await EncoderProcess.start(spec(options.model, precision)) for precision in Precision
    }
    size = max(options.chunks // options.slices, 1)
    for start in range(0, len(chunks), size):
        texts = chunks[start : start + size]
        theirs = reference.encode(texts)
        for precision in Precision:
            if precision is chosen or start < options.other:
                rows[precision].theirs.add(theirs)
                rows[precision].ours.add(await encode_ours(embedders[precision], texts))
    report(options, reference, rows, rows[chosen])
    await report_bc3(read_bc3(options.data), embedders)
    for embedder in embedders.values():
        await embedder.close()
    reference.close()


@dataclass
class Row:
    """An encoder and the reference, with the same texts."""

    ours: Measured = field(default_factory=Measured)
    theirs: Measured = field(default_factory=Measured)

    def line(self, name: str) -> str:
        ours, theirs = self.ours.all(), self.theirs.all()
        cosine = (ours * theirs).sum(axis=1)
        wall, cpu = self.theirs.seconds / self.ours.seconds, self.theirs.cpu_seconds / self.ours.cpu_seconds
        agreement = recall_agreement(ours, theirs)
        return (
            f"| {name} | {len(ours)} | {wall:.2f} | {cpu:.2f} | {cosine.mean():.5f} | {cosine.min():.5f} "
            f"| {agreement:.3f} | {self.ours.peak_mb:.0f} |"
        )


def report(options: argparse.Namespace, reference: Reference, rows: dict[Precision, Row], whole: Row) -> None:
    print("| encoder | chunks | x reference (wall) | x (CPU) | cosine mean | min | recall@10 | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    print(Row(whole.theirs, whole.theirs).line("SentenceTransformer.encode"))
    for precision, row in rows.items():
        if row.ours.vectors:
            default = " (default here)" if precision is fastest_precision() else ""
            print(row.line(f"openvino {precision}{default}"))
    cold = subprocess.run(
        [sys.executable, "-c", COLD, str(options.model)], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    theirs = reference.cold
    print("\ncold start to the first vector, in seconds (of them CPU):")
    print(f"  ours {float(cold[0]):.2f} ({float(cold[1]):.2f})")
    print(f"  theirs {theirs['cold']:.2f} ({theirs['cold_cpu']:.2f})")
    print(f"installed: ours {installed_mb(OURS):.0f} MB + model {folder_mb(options.model):.0f} MB, "
          f"reference {site_packages_mb(options.reference):.0f} MB + model 88 MB")  # fmt: skip


async def report_bc3(bc3: Bc3, embedders: dict[Precision, EncoderProcess]) -> None:
    print(f"\nBC3: {len(bc3.queries)} sentences of summaries and {len(bc3.messages)} mails")
    for precision, embedder in embedders.items():
        messages = await embedder.encode(bc3.messages)
        queries = await embedder.encode([text for text, _ in bc3.queries])
        print(f"  {precision}: message recall@3 {message_recall(messages, queries, bc3):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedding", description=__doc__)
    parser.add_argument("--reference", required=True, help="an interpreter that has sentence-transformers")
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "all-MiniLM-L6-v2")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--slices", type=int, default=20, help="how often the two take turns")
    parser.add_argument("--other", type=int, default=400, help="how many chunks the other precision encodes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(run(options, Path(scratch)))


if __name__ == "__main__":
    main()
