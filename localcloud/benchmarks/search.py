"""Benchmark of a large local AI Search: python -m benchmarks.search [--documents 100000].

Prints each design goal with its limit: exact recall, the latency of each kind of query as a multiple of a
document lookup in the same run (through the Azure SDK), the ingestion rate over raw HTTP, the restart time as
a share of the first load, and the memory per document.
"""

import argparse
import http.client
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import orjson
import psutil
from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.models import VectorizedQuery, VectorQuery
from numpy.typing import NDArray

from localcloud.search.service import ADMIN_KEY
from tests.support.services import RunningService, running_service

DIMENSIONS = 384
BATCH = 500
LISTS = 20
CLUSTERS = 500
API = "api-version=2026-04-01"
INDEX = {
    "name": "messages",
    "fields": [
        {"name": "id", "type": "Edm.String", "key": True, "searchable": False},
        {"name": "thread_id", "type": "Edm.String", "searchable": False},
        {"name": "list", "type": "Edm.String", "searchable": False},
        {"name": "sender", "type": "Edm.String", "searchable": False},
        {"name": "date", "type": "Edm.DateTimeOffset"},
        {"name": "position", "type": "Edm.Int32"},
        {"name": "tags", "type": "Collection(Edm.String)", "searchable": False},
        {
            "name": "text",
            "type": "Edm.String",
            "analyzer": "en.lucene",
            "filterable": False,
            "facetable": False,
        }
        | {"sortable": False},
        {"name": "embedding", "type": "Collection(Edm.Single)", "dimensions": DIMENSIONS}
        | {"vectorSearchProfile": "exact", "filterable": False},
    ],
    "vectorSearch": {
        "algorithms": [{"name": "hnsw", "kind": "hnsw"}],
        "profiles": [{"name": "exact", "algorithm": "hnsw"}],
    },
}


class Corpus:
    """Documents with words by Zipf's law and clustered vectors, from a fixed seed."""

    def __init__(self, documents: int) -> None:
        self.documents = documents
        self.random = np.random.default_rng(7)
        centres = self.random.standard_normal((CLUSTERS, DIMENSIONS))
        noise = self.random.standard_normal((documents, DIMENSIONS))
        self.vectors = (centres[self.random.integers(0, CLUSTERS, documents)] + noise).astype(np.float32)
        syllables = ["ba", "co", "di", "fu", "ge", "ha", "li", "mo", "nu", "pe", "ra", "so", "ti", "vu", "za"]
        words = ["".join(syllables[(n // 15**i) % 15] for i in range(4)) for n in range(30_000)]
        self.words = self.random.permutation(words)

    def text(self) -> str:
        ranks = np.minimum(self.random.zipf(1.3, int(self.random.integers(40, 160))), len(self.words)) - 1
        return " ".join(self.words[ranks])

    def batches(self) -> Iterator[bytes]:
        for start in range(0, self.documents, BATCH):
            rows = range(start, min(start + BATCH, self.documents))
            yield orjson.dumps(
                {"value": [self._document(row) for row in rows]}, option=orjson.OPT_SERIALIZE_NUMPY
            )

    def _document(self, row: int) -> dict[str, Any]:
        return {
            "id": f"{row:016x}",
            "thread_id": f"thread-{row // 8:08d}",
            "list": f"list-{row % LISTS}",
            "sender": f"sender-{row % 997}@example.org",
            "date": f"20{row % 20:02d}-{row % 12 + 1:02d}-{row % 28 + 1:02d}T08:30:00Z",
            "position": row,
            "tags": [f"tag-{row % 7}", f"tag-{row % 11}"],
            "text": self.text(),
            "embedding": self.vectors[row],
        }


def ingest(service: RunningService, corpus: Corpus) -> float:
    """Return the seconds that the service took for all batches, without their creation."""
    address = urlsplit(service.addresses["endpoint"])
    context = ssl.create_default_context(cafile=service.addresses["ca"])
    connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)
    headers = {"api-key": ADMIN_KEY, "Content-Type": "application/json"}
    connection.request("POST", f"/indexes?{API}", orjson.dumps(INDEX), headers)
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    answer.read()
    spent = 0.0
    for batch in corpus.batches():
        started = time.perf_counter()
        connection.request("POST", f"/indexes('messages')/docs/search.index?{API}", batch, headers)
        answer = connection.getresponse()
        body = answer.read()
        spent += time.perf_counter() - started
        assert answer.status == 200, body[:500]
    connection.close()
    return spent


def interleaved(runs: dict[str, Callable[[int], object]], rounds: int = 60) -> dict[str, float]:
    """Return the median milliseconds of each function.

    They alternate, so that other load affects all equally.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(-5, rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run(abs(number))
            if number >= 0:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) * 1000 for name, taken in times.items()}


def truth(corpus: Corpus, query: NDArray[np.float32], rows: NDArray[np.int64]) -> set[str]:
    vectors = corpus.vectors[rows].astype(np.float64)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1)
    return {f"{row:016x}" for row in rows[np.argsort(-cosines)[:10]]}


def recall(client: SearchClient, corpus: Corpus, queries: NDArray[np.float32], *, filtered: bool) -> float:
    rows = np.arange(corpus.documents)
    found = 0
    for number, query in enumerate(queries):
        kept = rows[rows % LISTS == number % LISTS] if filtered else rows
        hits = client.search(
            None,
            vector_queries=[vector_query(query)],
            filter=f"list eq 'list-{number % LISTS}'" if filtered else None,
            select=["id"],
            top=10,
        )
        found += len({hit["id"] for hit in hits} & truth(corpus, query, kept))
    return found / (10 * len(queries))


def vector_query(query: NDArray[np.float32]) -> VectorizedQuery:
    return VectorizedQuery(vector=query.tolist(), k_nearest_neighbors=10, fields="embedding")


def latencies(client: SearchClient, corpus: Corpus, queries: NDArray[np.float32]) -> dict[str, float]:
    texts = [" ".join(corpus.words[corpus.random.integers(20, 3000, 3)]) for _ in range(60)]
    step = corpus.documents // 61

    def search(number: int, text: str | None, *, vector: bool, where: str | None = None) -> object:
        vectors: list[VectorQuery] = [vector_query(queries[number % len(queries)])] if vector else []
        return list(client.search(text, vector_queries=vectors, filter=where, select=["id"], top=10))

    def filtered(number: int) -> object:
        return search(number, None, vector=True, where=f"list eq 'list-{number % LISTS}'")

    return interleaved(
        {
            "look-up": lambda n: client.get_document(f"{n * step:016x}", selected_fields=["id", "text"]),
            "keyword": lambda n: search(n, texts[n % 60], vector=False),
            "vector": lambda n: search(n, None, vector=True),
            "filtered vector": filtered,
            "hybrid": lambda n: search(n, texts[n % 60], vector=True),
        }
    )


def print_row(name: str, value: str, bound: str) -> None:
    print(f"{name:<34}{value:>16}   {bound}")


def measure(folder: Path, documents: int) -> None:
    corpus = Corpus(documents)
    queries = corpus.vectors[corpus.random.integers(0, documents, 40)] + corpus.random.standard_normal(
        (40, DIMENSIONS)
    ).astype(np.float32)
    with running_service("search", data=folder) as service:
        load = ingest(service, corpus)
        processor = sum(psutil.Process(service.process.pid).cpu_times()[:2])
        print_row("ingest, documents/s", f"{documents / load:,.0f}", "at least 2,500")
        print_row("ingest, documents/s of CPU", f"{documents / processor:,.0f}", "(its start included)")
    started = time.perf_counter()
    with running_service("search", data=folder) as service:
        restart = time.perf_counter() - started
        print_row("restart, share of the first load", f"{restart / load:.3f}", "at most 0.2")
        client = SearchClient(
            service.addresses["endpoint"],
            "messages",
            AzureKeyCredential(ADMIN_KEY),
            connection_verify=service.addresses["ca"],
        )
        print_row("recall@10", f"{recall(client, corpus, queries, filtered=False):.4f}", "1.0")
        print_row(
            "recall@10, filtered to 1 in 20", f"{recall(client, corpus, queries, filtered=True):.4f}", "1.0"
        )
        measured = latencies(client, corpus, queries)
        for name, milliseconds in measured.items():
            ratio = f"{milliseconds / measured['look-up']:.1f} x a look-up"
            print_row(f"{name} p50, ms", f"{milliseconds:.2f}", ratio)
        memory = psutil.Process(service.process.pid).memory_info().rss
        print_row("memory, KB a document", f"{memory / documents / 1024:.2f}", "at most 6")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    options = parser.parse_args()
    print(f"{options.documents:,} documents, {DIMENSIONS} dimensions, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder) / "search", options.documents)


if __name__ == "__main__":
    main()
