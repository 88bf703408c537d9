"""The chat model's path loses hardly any claim of a perfect reader, and hides hardly any lie of a liar."""

import json
from pathlib import Path

import pytest

from evaluation.chat_consensus import read_with
from evaluation.consensus import score_corpus
from evaluation.consensus_corpus import LabelledThread, read_corpus
from evaluation.consensus_scores import figures
from evaluation.data import corpus_files, data_folder, why_skipped
from evaluation.label_answers import answer_of
from evaluation.lies import tell
from shared.azure.openai_client import Endpoint, OpenAIClient
from shared.model_reading.answer import ANSWER_SCHEMA
from shared.model_reading.numbered import number_thread
from shared.reading.linked_thread import LinkedThread
from shared.summarization.summarizers import ChatSettings
from tests.support.web_server import HttpServer
from tools.chat_replay import Replay, key_of

pytestmark = pytest.mark.skipif(
    not (data_folder() / "consensus").is_dir(),
    reason=why_skipped("consensus/"),
)
WINDOW, ANSWER = 400_000, 4000
STRUCTURAL = (
    "speaker swapped", "negation cut off", "quotes merged", "date invented", "number invented", "name invented",
    "name swapped", "outcome without evidence",
)  # fmt: skip


def write_answer(folder: Path, labelled: LabelledThread) -> None:
    """Write the label to the file with which the replay endpoint answers this thread."""
    thread = LinkedThread(labelled.mails, labelled.profile)
    (part,) = number_thread(thread, labelled.mails[0].subject, room=WINDOW - ANSWER).parts
    messages = [{"role": "system", "content": part.system}, {"role": "user", "content": part.user}]
    answer = json.dumps(answer_of(labelled, thread), ensure_ascii=False)
    (folder / f"{key_of({'messages': messages})}.answer.json").write_text(answer, encoding="utf-8")


async def test_a_perfect_reader_loses_next_to_nothing_on_the_way(tmp_path: Path) -> None:
    threads = [thread for file in corpus_files("c*/labels.json") for thread in read_corpus(file.parent)]
    threads = threads[::3]
    assert len(threads) >= 40
    answers = tmp_path / "answers"
    answers.mkdir()
    for labelled in threads:
        write_answer(answers, labelled)
    server = HttpServer(Replay(answers, wait_seconds=0).handle)
    port = await server.start("127.0.0.1", 0)
    client = OpenAIClient(Endpoint(f"http://127.0.0.1:{port}/v1"))
    settings = ChatSettings("labels", answer_tokens=ANSWER, answer_schema=ANSWER_SCHEMA)
    try:
        results = await read_with(client, settings, threads, window=WINDOW, kept=tmp_path / "kept")
    finally:
        await client.close()
        await server.stop()
    assert len(list(answers.glob("*.request.json"))) == len(threads)
    got = figures([one.row for one in score_corpus(threads, [result["prediction"] for result in results])])
    rates = ("has_consensus", "positions", "support", "oppose")
    by_message = ("objections (message)", "decisions (message)", "open issues (message)")
    least = {name: got[name]["F1"] for name in (*rates, *by_message)} | {
        name: got[name]
        for name in (
            "genre accuracy",
            "outcome accuracy",
            "consensus_type accuracy",
            "key points: sentence shown",
        )
    }
    # Some claims are lost: quotes whose words settle nothing, and agreements despite a visible objection.
    assert {name: value for name, value in least.items() if value < 0.9} == {}


def test_lies_under_true_quotes_are_not_shown() -> None:
    counts = tell(range(1), every=4)
    for kind in STRUCTURAL:
        assert counts[kind]["told"] >= 8
        assert (kind, counts[kind]["shown"]) == (kind, 0)
    flipped = counts["stance flipped, explicit words"]
    assert flipped["told"] >= 25
    assert flipped["shown"] <= 0.2 * flipped["told"]
    assert flipped["unlabelled"] <= 0.08 * flipped["told"]
    ended = counts["outcome changed under true quotes"]
    assert ended["shown"] <= 0.12 * ended["told"]
    claimed = counts["false claim over a true quote"]
    assert claimed["shown"] <= 0.16 * claimed["told"]
    assert counts["stance flipped, by argument"]["told"] >= 4
    assert counts["stance flipped, by argument"]["unlabelled"] == 0
