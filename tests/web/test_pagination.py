"""The size of a page, as strangers ask for it."""

import azure.functions as func
import pytest

from web.pagination import LARGEST_SIZE, page_size
from web.problems import Problem


def asked(limit: str) -> int:
    return page_size(func.HttpRequest("GET", "/api/archives", params={"limit": limit}, body=b""))


@pytest.mark.parametrize("limit", ["1", "200", "0050"])
def test_a_size_within_the_bounds_is_taken(limit: str) -> None:
    assert 1 <= asked(limit) <= LARGEST_SIZE


@pytest.mark.parametrize(
    "limit", ["", "0", "201", "-1", "1e3", "\u0665", "0002009999999", "000001" + "0" * 12, "0" * 5000 + "1"]
)
def test_no_spelling_of_a_size_gets_around_the_bounds(limit: str) -> None:
    with pytest.raises(Problem) as refused:
        asked(limit)
    assert refused.value.status == 422
