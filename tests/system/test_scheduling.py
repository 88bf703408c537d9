"""The order of files for workers names existing paths. A renamed file would lose its place."""

import pytest

from tests.support.scheduling import LONGEST_FIRST, NOT_ON_THE_SITE, ON_THE_SITE, rank, unit_of
from tests.support.services import ROOT


@pytest.mark.parametrize("path", [*LONGEST_FIRST, *ON_THE_SITE, *NOT_ON_THE_SITE])
def test_what_the_order_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_tests_of_the_site_are_one_unit_and_start_early() -> None:
    units = {unit_of("tests/web/api/test_search.py"), unit_of("tests/web/pages/test_thread_page.py")}
    assert units == {"tests/web/"}
    assert unit_of(NOT_ON_THE_SITE[0]) == NOT_ON_THE_SITE[0]
    assert rank("tests/web/") < rank("tests/mail/test_parse.py")
