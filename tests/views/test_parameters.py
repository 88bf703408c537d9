"""The page sizes that strangers may request."""

import pytest
from pydantic import ValidationError

from shared.views.parameters import LARGEST_SIZE, Limit, QueryParameters


class PageAsked(QueryParameters):
    limit: Limit


@pytest.mark.parametrize("limit", ["1", "200", "0050"])
def test_a_size_within_the_bounds_is_taken(limit: str) -> None:
    assert 1 <= PageAsked.model_validate({"limit": limit}).limit <= LARGEST_SIZE


@pytest.mark.parametrize(
    "limit", ["", "0", "201", "-1", "1e3", "\u0665", "0002009999999", "000001" + "0" * 12, "0" * 5000 + "201"]
)
def test_no_spelling_of_a_size_gets_around_the_bounds(limit: str) -> None:
    with pytest.raises(ValidationError):
        PageAsked.model_validate({"limit": limit})
