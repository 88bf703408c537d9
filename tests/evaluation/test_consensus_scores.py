"""Our scorer gives the same figures as the labels' own, and the reader keeps its bounds on the labels."""

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evaluation.consensus import below_floors, main, prediction_of
from evaluation.consensus_corpus import CorpusError, LabelledThread, read_corpus, read_profile
from evaluation.consensus_folds import FOLDS, fold_of, is_unread
from evaluation.consensus_scores import figures, overlap, score_threads, wilson
from evaluation.data import data_folder, why_skipped
from evaluation.tiers import count_tiers
from shared.models.values import SourceProfile, Tier
from shared.reading.reader import read_thread
from tests.support.thread_mails import mail

CONSENSUS = data_folder() / "consensus"
needs_labels = pytest.mark.skipif(
    not (CONSENSUS / "score.py").is_file(),
    reason=why_skipped("consensus/"),
)

LABEL: dict[str, Any] = {
    "thread": "t1",
    "source": "list",
    "genre": "patch",
    "outcome": "accepted",
    "has_consensus": True,
    "consensus_type": "agreement",
    "message_ids": ["m0", "m1"],
    "positions": [
        {"person": "pat@list.example", "stance": "proposer"},
        {"person": "Ann@list.example", "stance": "support"},
        {"person": "bob@list.example", "stance": "mixed"},
    ],
    "objections": [],
    "decisions": [{"message_id": "m1", "quote": "Will queue."}],
    "open_issues": [],
    "key_points": [{"message_id": "m0", "quote": "It keeps the last line of a file."}],
    "outcome_evidence": [{"message_id": "m1", "quote": "Will queue."}],
}


def test_each_kind_of_wrong_position_is_counted_by_itself() -> None:
    said = {"ann": "oppose", "bob": "support", "pat": "support", "eve": "support"}
    positions = [{"person": f"{name}@list.example", "stance": stance} for name, stance in said.items()]
    row = score_threads([LABEL], [{"thread": "t1", "positions": positions}])[0]
    assert (row["pos_p"], row["pos_tp"], row["pos_g"]) == (4, 0, 1)
    assert (row["inverted"], row["proposer_counted"], row["invented"]) == (1, 1, 1)


def test_what_is_not_said_counts_as_nothing() -> None:
    result = figures(score_threads([LABEL], []))
    assert result["positions"] == {"F1": 0.0, "P": 1.0, "R": 0.0, "said": 0, "true": 1}
    assert result["genre said"] == 0


def test_a_key_point_is_shown_by_half_of_its_words_in_its_own_mail() -> None:
    point = {"message_id": "<m0>", "quote": "It keeps the last line."}
    elsewhere = {"message_id": "m1", "quote": "It keeps the last line of a file."}
    assert score_threads([LABEL], [{"thread": "t1", "points": [point]}])[0]["key_s"] == 1
    assert score_threads([LABEL], [{"thread": "t1", "points": [elsewhere]}])[0]["key_s"] == 0
    assert overlap("a b c d", "a b") == pytest.approx(2 / 3)


def test_the_interval_of_a_share_is_wide_where_little_was_said() -> None:
    low, high = wilson(9, 10)
    assert low == pytest.approx(0.596, abs=0.001)
    assert high == pytest.approx(0.982, abs=0.001)
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_figure_below_its_floor_is_named() -> None:
    result = figures(score_threads([LABEL], []))
    assert below_floors(result, {"positions R": 0.5, "positions inverted": 0, "genre said": 0.0}) == [
        "positions R is 0.0, its bound is 0.5"
    ]


def test_folds_are_stable_and_every_thread_has_one() -> None:
    assert fold_of("git-05daf58beb") == fold_of("git-05daf58beb")
    assert {fold_of(f"thread {number}") for number in range(100)} == set(range(FOLDS))
    assert any(is_unread(f"thread {number}") for number in range(10))


def write_folder(folder: Path, ids: list[str]) -> None:
    mails = [
        (
            "From x Mon Jan  1 00:00:00 2024\nFrom: Pat <pat@list.example>\nMessage-ID: <m0>\nSubject: [PATCH] keep it\n"
            "Date: Mon, 1 Jan 2024 10:00:00 +0000\n\nIt keeps the last line of a file.\n\n"
        ),
        (
            "From x Mon Jan  1 00:00:00 2024\nFrom: Ann <ann@list.example>\nMessage-ID: <m1>\nIn-Reply-To: <m0>\n"
            "Subject: Re: [PATCH] keep it\nDate: Tue, 2 Jan 2024 10:00:00 +0000\n\nWill queue.\n"
        ),
    ]
    (folder / "list.mbox").write_text("".join(mails), encoding="utf-8")
    (folder / "labels.json").write_text(json.dumps([LABEL | {"message_ids": ids}]), encoding="utf-8")
    roles = {
        "list": {"preset": "maintainer", "roles": [{"person": "ann@list.example", "role": "maintainer"}]}
    }
    (folder / "roles.json").write_text(json.dumps(roles), encoding="utf-8")


def test_a_folder_is_run_and_what_was_said_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(tmp_path, ["m0", "m1"])
    kept = tmp_path / "predictions.json"
    assert main(["--labels", str(tmp_path), "--predictions", str(kept)]) == 0
    prediction = json.loads(kept.read_text(encoding="utf-8"))[0]
    assert (prediction["genre"], prediction["outcome"]) == ("patch", "accepted")
    assert [one["person"] for one in prediction["positions"]] == ["ann@list.example"]
    assert "positions precision        1.00" in capsys.readouterr().out


def test_a_mail_that_the_mboxes_lack_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(tmp_path, ["m0", "m7"])
    assert main(["--labels", str(tmp_path)]) == 1
    assert "no mail m7 of thread t1" in capsys.readouterr().err
    with pytest.raises(CorpusError, match=r"labels\.json cannot be read"):
        read_corpus(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "gitlab"},
        {"roles": "chair"},
        {"roles": [{"person": "ann@list.example"}]},
        {"roles": [{"person": "a@b", "role": "chair", "from": "May"}]},
    ],
)
def test_a_profile_that_cannot_be_used_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(CorpusError, match="cannot be used"):
        read_profile(settings)


def labels_scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("labels_scorer", CONSENSUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_labels
def test_our_figures_are_those_of_the_labels_own_scorer() -> None:
    threads = read_corpus(CONSENSUS)[:30]
    labels = [thread.label for thread in threads]
    predictions = [prediction_of(one.label["thread"], read_thread(one.mails, one.profile)) for one in threads]
    theirs = labels_scorer()
    assert figures(score_threads(labels, predictions)) == theirs.figures(theirs.score(labels, predictions))


@needs_labels
def test_nothing_is_inverted_and_no_proposer_counted_where_rules_were_written() -> None:
    threads = [one for one in read_corpus(CONSENSUS) if not is_unread(one.label["thread"])]
    predictions = [prediction_of(one.label["thread"], read_thread(one.mails, one.profile)) for one in threads]
    total: Counter[str] = Counter()
    for row in score_threads([one.label for one in threads], predictions):
        total.update(row)
    assert (total["inverted"], total["proposer_counted"]) == (0, 0)
    assert total["pos_tp"] >= 0.9 * total["pos_p"]
    assert total["pos_p"] >= 15


def test_what_is_said_and_what_is_only_quoted_are_counted_apart() -> None:
    """Ann's stated support is right. Bob's soft no is only quoted, and the label calls him mixed."""
    mails = (
        mail(0, "pat", "Keep the last line of a file.", subject="[PATCH] parser: keep the last line"),
        mail(1, "ann", "This looks good to me."),
        mail(2, "bob", "I don't think this is the right approach."),
    )
    thread = LabelledThread(LABEL, mails, SourceProfile())
    counted = count_tiers([thread], [read_thread(thread.mails, thread.profile)])
    assert counted["position", Tier.SAID] == (1, 1)
    assert counted["position", Tier.REMARK] == (0, 1)
    assert counted["genre", Tier.SAID] == (1, 1)
