"""Names of several addresses: proposed once, then merged or kept apart by an operator."""

from shared.models.values import SourceProfile
from shared.reading.linked_thread import People, SharedName, shared_names
from shared.reading.mails import ThreadMail

SIGNED = [
    ("Ann Lee", "ann@work.example"),
    ("Ann Lee", "ann+lists@work.example"),
    ("Lee, Ann", "ann@home.example"),
    ("Ann Lee via Relay", "relay@gate.example"),
    ("Ann", "ann@school.example"),
    ("Bob Stone", "bob@stone.example"),
    ("Cem Yildiz", "not an address"),
]
WORK, HOME = "ann@work.example", "ann@home.example"


def mail(number: int, name: str, address: str) -> ThreadMail:
    return ThreadMail(message_id=f"<{number}>", address=address, name=name, text="Words.")


def people(profile: SourceProfile) -> list[str]:
    mails = [mail(number, "Ann Lee", address) for number, address in enumerate((WORK, HOME))]
    return People(mails, profile).of_mail


def test_a_full_name_under_several_addresses_is_proposed_once() -> None:
    assert shared_names(SIGNED, SourceProfile()) == [SharedName("Ann Lee", (WORK, HOME))]


def test_what_was_decided_is_not_proposed_again_until_another_address_comes() -> None:
    for decided in (SourceProfile(aliases=((HOME, WORK),)), SourceProfile(namesakes=((WORK, HOME),))):
        assert shared_names(SIGNED, decided) == []
        third = [*SIGNED, ("Ann Lee", "ann@new.example")]
        (open_again,) = shared_names(third, decided)
        assert set(open_again.addresses) == {WORK, HOME, "ann@new.example"}


def voices(profile: SourceProfile) -> int:
    found = People([mail(number, "Ann Lee", address) for number, address in enumerate((WORK, HOME))], profile)
    return len({found.voice(number) for number in range(2)})


def test_a_name_joins_no_addresses_and_is_one_voice() -> None:
    assert voices(SourceProfile()) == voices(SourceProfile(aliases=((WORK, HOME),))) == 1
    assert voices(SourceProfile(namesakes=((WORK, HOME),))) == 2


def test_namesakes_are_two_people_and_aliases_are_one() -> None:
    assert people(SourceProfile()) == [WORK, HOME]
    assert people(SourceProfile(namesakes=((WORK, HOME),))) == [WORK, HOME]
    assert people(SourceProfile(aliases=((WORK, HOME),))) == [WORK, WORK]
