"""Mentions of standards have correct places."""

import pytest

from shared.mail.mentions import find_mentions


@pytest.mark.parametrize("before", ["", "xRFC 1234 rfc, ", "\u0130\u0130 ", "draft-ietf-tls-rfc8446bis "])
def test_places_in_lower_case_are_those_of_the_text(before: str) -> None:
    """Lower case can be longer: the dotted capital I becomes two characters."""
    assert find_mentions(f"{before}see rfc 793 and RFCs 2119, 8174")[-3:] == ["RFC793", "RFC2119", "RFC8174"]
