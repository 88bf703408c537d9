"""The Functions keep their names: scale settings, alerts and dashboards in Azure go by them."""

from tests.support.functions import app_functions

NAMES = """

"""


def test_every_function_has_the_name_that_it_always_had() -> None:
    assert sorted(function.get_function_name() for function in app_functions()) == NAMES.split()
