"""SentenceTransformer.encode with its default options, as a process with a request on each line.

It imports nothing of the project, so that its interpreter needs only sentence-transformers.
"""

import json
import resource
import sys
import time

started, cpu_started = time.perf_counter(), time.process_time()

import numpy as np  # noqa: E402 - its import is part of what is measured
from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore] # noqa: E402


def answer(**values: object) -> None:
    sys.__stdout__.write(json.dumps(values) + "\n")  # type: ignore[union-attr] # a script has one
    sys.__stdout__.flush()  # type: ignore[union-attr]


def main(folder: str) -> None:
    model = SentenceTransformer(folder, device="cpu")
    model.encode(["the first text"], show_progress_bar=False)
    answer(cold=time.perf_counter() - started, cold_cpu=time.process_time() - cpu_started)
    for line in sys.stdin:
        request = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        vectors = model.encode(request["texts"], show_progress_bar=False)
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        np.save(request["out"], vectors)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answer(seconds=seconds, cpu_seconds=cpu_seconds, peak_mb=peak)


main(sys.argv[1])
