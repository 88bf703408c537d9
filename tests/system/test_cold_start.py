"""The app loads no more than it needs at start."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Modules that only some function needs when it is called, and modules that no function needs.
LATER = [
    "aiohttp", "azure.cosmos", "azure.identity", "azure.monitor", "azure.search.documents", "azure.servicebus",
    "azure.storage.blob", "cryptography", "msal", "openai", "opentelemetry.sdk", "openvino", "requests",
]  # fmt: skip
NEVER = ["localcloud", "nncf", "onnxruntime", "pandas", "scipy", "sentence_transformers", "tests", "torch"]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    code = "import sys, function_app; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", [*LATER, *NEVER])
def test_a_start_does_not_import(module: str, loaded: set[str]) -> None:
    assert module not in loaded


def test_what_a_start_imports_is_what_the_test_looks_at(loaded: set[str]) -> None:
    assert {"function_app", "azure.functions", "pydantic", "stages.embedding"} <= loaded


def test_our_embedder_needs_no_torch_at_work_either() -> None:
    requirements = (ROOT / "requirements.txt").read_text()

    assert not any(line.startswith(("torch", "sentence-transformers")) for line in requirements.splitlines())
