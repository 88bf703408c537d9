"""A reading is stored in its summary as it was read."""

import json
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from shared.documents.readings import StoredReading
from shared.documents.values import ThreadReading
from tests.support.properties import STEADY
from tests.support.thread_mails import IETF, MAVEN, mail, read

# A confidence is a share; NaN would not even equal itself.
st.register_type_strategy(float, st.floats(0, 1))


@STEADY
@given(st.from_type(ThreadReading))
def test_any_reading_comes_back_from_its_stored_form(reading: ThreadReading) -> None:
    stored = json.loads(json.dumps(StoredReading.of(reading).model_dump(mode="json")))
    assert StoredReading.model_validate(stored).reading() == reading


def test_the_stored_form_has_every_field_of_a_reading() -> None:
    of_people = {"corrections", "placements"}  # laid over what was read
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
        assert StoredReading.of(reading).reading() == reading
