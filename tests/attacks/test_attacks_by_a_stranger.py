"""A stranger with a handful of messages changes no claim about other people, unless a mark says so.

Each attack is compared with its honest twin: harmless messages of the same stranger. The rules depend on the
set of messages, so the order of parsing changes nothing.
"""

import pytest

from tests.attacks import afterwards, of_forms, of_headers, of_mails, of_people
from tests.attacks.honest import changed, record, said, said_with

CLASSES = {
    "gateways": of_people.GATEWAYS,
    "changes of mind": of_people.CHANGES,
    "quotation": of_mails.QUOTES,
    "authentication": of_people.AUTHENTICATION,
    "supplied ancestors": of_mails.SUPPLIED,
    "genre, language, results": of_mails.GENRE,
    "archives": of_mails.ARCHIVES,
    "dates": of_mails.BY_DATE,
    "names": of_people.NAMES,
    "hidden text": of_mails.HIDDEN,
    "dilution": of_mails.DILUTION,
    "afterwards": afterwards.AFTERWARDS,
    **of_headers.NEW,
    **of_forms.NEW,
}
ATTACKS = [(kind, attack) for kind, attacks in CLASSES.items() for attack in attacks]


def test_there_are_more_than_seven_hundred_attacks() -> None:
    names = [(kind, attack.name) for kind, attack in ATTACKS]
    assert len(set(names)) == len(names) >= 700
    assert all(len(attacks) >= 10 for attacks in CLASSES.values())


@pytest.mark.parametrize("kind", CLASSES)
def test_a_stranger_changes_nothing_that_is_said_of_others(kind: str) -> None:
    found = {}
    for attack in CLASSES[kind]:
        parsed_first = said(record(attack.list, attack.mails, first=True), attack.list)
        if parsed_first != said_with(attack.list, attack.mails):
            found[attack.name] = "it depends on the order of parsing"
        elif difference := changed(attack):
            found[attack.name] = str(difference)
    assert found == {}


@pytest.mark.parametrize("list_", ["ietf", "checked", "marked", "git", "apache", "lossy"])
def test_the_honest_lists_have_something_to_lose(list_: str) -> None:
    claims = said(record(list_, ()), list_)
    assert {"thread", "mail", "position", "outcome", "title"} <= {kind for kind, *_ in claims}
    assert not any(claim.marks for claim in claims.values())
