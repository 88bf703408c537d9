"""Prefixes of mailers and lists are removed from a subject in one place."""

import pytest

from shared.mail.subjects import split_subject


@pytest.mark.parametrize(
    ("subject", "text", "tags", "mark"),
    [
        ("A title", "A title", (), ""),
        ("Re: A title", "A title", (), "reply"),
        ("RE[2]: AW: A title", "A title", (), "reply"),
        ("Fwd: Re: A title", "A title", (), "forward"),
        ("[list] Re: [PATCH v2 1/3] refs: A title", "refs: A title", ("list", "PATCH v2 1/3"), "reply"),
        ("回复:A title", "A title", (), "reply"),
        ("'Re: A title'", "A title", (), "reply"),
        ("Reply: A title", "Reply: A title", (), ""),
        ("Re: [RFC]", "", ("RFC",), "reply"),
        ("", "", (), ""),
    ],
)
def test_split_subject(subject: str, text: str, tags: tuple[str, ...], mark: str) -> None:
    split = split_subject(subject)
    assert (split.text, split.tags) == (text, tags)
    assert (split.is_reply, split.is_forward) == (mark == "reply", mark == "forward")


def test_a_subject_of_tags_alone_has_the_last_one_as_title() -> None:
    assert split_subject("Re: [list] [RFC]").title == "[RFC]"
    assert split_subject("Re:").title == ""
