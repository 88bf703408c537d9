"""A reading survives storing in its summary."""

import json
from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from shared.models.readings import ShownOutcome, StoredReading
from shared.models.values import OutcomeKind, ThreadReading, Tier
from tests.support.properties import STEADY
from tests.support.thread_mails import IETF, MAVEN, mail, read

# A confidence is a share. NaN would not even equal itself.
st.register_type_strategy(float, st.floats(0, 1))


@STEADY
@given(st.from_type(ThreadReading))
def test_any_reading_comes_back_from_its_stored_form(reading: ThreadReading) -> None:
    stored = json.loads(json.dumps(StoredReading.of(reading).model_dump(mode="json")))
    assert StoredReading.model_validate(stored).reading() == without_guess(reading)


def without_guess(reading: ThreadReading) -> ThreadReading:
    if reading.outcome.tier is Tier.SAID:
        return reading
    return replace(reading, outcome=replace(reading.outcome, kind=OutcomeKind.UNRESOLVED))


def test_a_kind_that_is_only_a_guess_is_neither_stored_nor_shown() -> None:
    said = read(mail(0, "ann", "I propose that we adopt draft-foo-bar."), mail(1, "bob", "+1"))
    guessed = replace(said, outcome=replace(said.outcome, kind=OutcomeKind.ACCEPTED, tier=Tier.REMARK))
    stored = StoredReading.of(guessed)
    assert stored.outcome.kind is stored.shown_outcome.kind is None
    earlier = {**stored.shown_outcome.model_dump(mode="json"), "kind": "accepted"}
    assert ShownOutcome.model_validate(earlier).kind is None


def test_the_stored_form_has_every_field_of_a_reading() -> None:
    of_people = {"corrections", "placements"}  # applied on top of the reading
    assert set(StoredReading.model_fields) - of_people == {field.name for field in fields(ThreadReading)}


def test_a_call_and_a_vote_come_back_whole() -> None:
    call = read(
        mail(0, "chair@ietf.example", "This is a call for adoption. Please reply by 31 January 2024."),
        mail(1, "ann", "I support adoption."),
        mail(2, "bob", "I object to adoption: the index is not hidden."),
        profile=IETF,
    )
    vote = read(
        mail(0, "rita@apache.example", "Please vote on the release.", subject="[VOTE] Release 1.2"),
        mail(1, "ann@apache.example", "+1 (binding)"),
        profile=MAVEN,
    )
    assert call.open_call
    assert vote.outcome.votes
    for reading in (call, vote):
        assert StoredReading.of(reading).reading() == without_guess(reading)
