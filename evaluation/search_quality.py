"""Measure how well searches find and refuse: labeled queries against a running app.

    python -m evaluation.search_quality --settings .localcloud/settings.json [--half tuned]

Relevant messages are named by Message-ID. They were chosen by reading the lists, without a search. Weights
and floor were chosen on the half `tuned`. `before` is the order of the service alone, by the query as typed.
"""

import argparse
import asyncio
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.embedding.factory import embedder
from shared.models.queries.threads import MESSAGES_WITH_ID
from shared.settings.app import load_settings
from shared.views.ask import answer_question
from shared.views.search import SearchAsked, find

LABELS = Path(__file__).with_name("labels") / "search.json"
DEPTH = 10
IDS_A_QUERY = 6  # a query for messages by id returns at most twenty documents
RESAMPLES = 2000


@dataclass
class LabeledQuery:
    query: str
    kind: str
    half: str
    relevant: dict[str, int]
    threads: dict[str, int] = field(default_factory=dict)

    @property
    def is_answerable(self) -> bool:
        return self.kind != "none"


@dataclass(frozen=True)
class Outcome:
    asked: LabeledQuery
    before: list[str]
    found: list[str]
    cited: list[str]  # the threads that an answer cites, in the answer's order


def load_queries() -> list[LabeledQuery]:
    return [LabeledQuery(**label) for label in json.loads(LABELS.read_text(encoding="utf-8"))]


def ndcg(found: Sequence[str], grades: Mapping[str, int]) -> float:
    ideal = _gain(sorted(grades.values(), reverse=True))
    return float(_gain([grades.get(thread, 0) for thread in found]) / ideal) if ideal else 0.0


def _gain(grades: Sequence[int]) -> float:
    return math.fsum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades[:DEPTH]))


def recall(found: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return the share of the relevant threads among the first ten, out of at most ten."""
    return len(set(found[:DEPTH]) & set(grades)) / min(len(grades), DEPTH)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by resampling."""
    chance = random.Random(1)  # noqa: S311 - resampling, not secrets
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


async def thread_grades(clients: Clients, queries: Sequence[LabeledQuery]) -> None:
    """Return the grade of each thread, for the threads that this app makes of the labeled messages."""
    ids = sorted({id_ for query in queries for id_ in query.relevant})
    threads: dict[str, set[str]] = {}
    for start in range(0, len(ids), IDS_A_QUERY):
        batch = ids[start : start + IDS_A_QUERY]
        async for row in clients.store.query(MESSAGES_WITH_ID, Session(), message_ids=batch):
            threads.setdefault(row["message_id"], set()).add(row["thread_id"])
    for query in queries:
        for id_, grade in query.relevant.items():
            for thread in threads.get(id_, ()):
                query.threads[thread] = max(grade, query.threads.get(thread, 0))
    missing = [query.query for query in queries if query.is_answerable and not query.threads]
    if missing:
        raise SystemExit(f"The archives of {len(missing)} queries are not there, among them {missing[0]!r}.")


async def outcome_of(clients: Clients, query: LabeledQuery) -> Outcome:
    model = await embedder(clients)
    vector = [float(number) for number in (await model.encode([query.query]))[0]]
    before = await clients.index.search(query.query, vector, top=20)
    found = await find(clients, SearchAsked(q=query.query, limit=DEPTH))
    answer = await answer_question(clients, query.query)
    return Outcome(
        query,
        list(dict.fromkeys(hit.payload["thread_id"] for hit in before)),
        [thread.thread_id for thread in found.threads],
        [thread.thread_id for thread in answer.threads],
    )


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    shown = []
    answerable = [outcome for outcome in outcomes if outcome.asked.is_answerable]
    refused = [float(not outcome.found) for outcome in outcomes if not outcome.asked.is_answerable]
    measures: dict[str, Callable[[Outcome], float]] = {
        "nDCG@10 before": lambda outcome: ndcg(outcome.before, outcome.asked.threads),
        "nDCG@10": lambda outcome: ndcg(outcome.found, outcome.asked.threads),
        "recall@10 before": lambda outcome: recall(outcome.before, outcome.asked.threads),
        "recall@10": lambda outcome: recall(outcome.found, outcome.asked.threads),
        "refused": lambda outcome: float(not outcome.found),
    }
    for kind in ("words", "meaning", "person", "identifier", "question", "all"):
        of_kind = [outcome for outcome in answerable if kind in (outcome.asked.kind, "all")]
        for name, measure in measures.items():
            shown.append(_line(f"{kind}: {name}", [measure(outcome) for outcome in of_kind]))
    shown.append(_line("without an answer: refused", refused))
    answered = [outcome for outcome in answerable if outcome.cited]
    for kind in ("question", "all"):
        cited = [_cites(outcome) for outcome in answered if kind in (outcome.asked.kind, "all")]
        shown.append(_line(f"{kind}: answers that cite a relevant thread first", cited))
    return shown


def _cites(outcome: Outcome) -> float:
    return float(outcome.cited[0] in outcome.asked.threads)


def _line(name: str, values: Sequence[float]) -> str:
    low, high = interval(values)
    return f"{name:<55} {mean(values):.3f} [{low:.3f}, {high:.3f}] of {len(values)}"


async def run(settings: dict[str, Any], half: str) -> None:
    clients = await Clients.connect(load_settings({name: str(value) for name, value in settings.items()}))
    try:
        queries = [query for query in load_queries() if query.half == half]
        await thread_grades(clients, queries)
        outcomes = [await outcome_of(clients, query) for query in queries]
        print(f"half {half}: {len(queries)} queries", *lines(outcomes), sep="\n")
        for outcome in outcomes:
            if bool(outcome.found) != outcome.asked.is_answerable:
                print("found" if outcome.found else "refused", "wrongly:", outcome.asked.query)
    finally:
        await clients.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", type=Path, required=True)
    parser.add_argument("--half", choices=("tuned", "unread"), default="unread")
    given = parser.parse_args()
    asyncio.run(run(json.loads(given.settings.read_text(encoding="utf-8")), given.half))
