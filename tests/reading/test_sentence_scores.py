"""A score is the sum of the weights of a sentence's features, in any order."""

import pytest

from shared.models.values import SourceProfile
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import ThreadMail
from shared.reading.proposal import find_proposal, read_genre
from shared.reading.sentence_scores import FeatureReader, Head, SentenceScores, candidates_of
from shared.reading.sentence_weights import WEIGHTS
from tests.support.thread_mails import GIT, IETF, mail

PROPOSAL = "I propose to drop the old tool from the tree. It is broken since 2019. What do you think?"
THREADS = {
    "a proposal": [
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I think we should keep the old tool. But why not ask?", under="drop the old tool"),
        mail(2, "chair", "The draft is adopted. I'll fix it, see https://example.org::x()", answers=1),
        mail(
            3, "prop", "Done. You must not worry: it should be fine.\n\nReviewed-by: Ann <ann@x>", answers=2
        ),
    ],
    "a patch": [
        mail(0, "prop", "This drops the tool.\n\ndiff --git a/x b/x\n", subject="[PATCH] drop the old tool"),
        mail(1, "ann", "Please split it. Looks good otherwise.", under="This drops the tool."),
        mail(2, "juno", "Thanks, will queue."),
        mail(3, "bob", "This drops the tool, and I doubt that it is right. Is it?", answers=1),
    ],
}


@pytest.mark.parametrize("mails", THREADS.values(), ids=THREADS)
@pytest.mark.parametrize("profile", [GIT, IETF], ids=["git", "ietf"])
def test_a_score_is_the_sum_of_its_features_weights(mails: list[ThreadMail], profile: SourceProfile) -> None:
    thread = LinkedThread(mails, profile)
    put = find_proposal(thread)
    genre = read_genre(thread, put).kind
    reader, scores = FeatureReader(thread, put, genre), SentenceScores(thread, put, genre)
    names: set[str] = set()
    for sentence in candidates_of(thread):
        features = {"bias": 1.0, **reader.features(sentence)}
        names |= features.keys()
        for column, head in enumerate(Head):
            total = sum(value * WEIGHTS[name][column] for name, value in features.items() if name in WEIGHTS)
            assert scores.score(sentence, head) == pytest.approx(total, abs=1e-8)
    assert len(names) > 40, "features of many kinds are in it"
