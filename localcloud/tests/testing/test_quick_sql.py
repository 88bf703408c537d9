import pytest

from localcloud.cosmos.sql_values import UNDEFINED
from localcloud.testing.quick_sql import compiled, meets


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("FROM c WHERE c.a = 1", True),
        ("FROM c WHERE c.a = '1'", False),
        ("FROM c WHERE c.b = 'no' OR c.a >= 1", True),
        ('FROM c WHERE c.t = "x y"', True),
        ("FROM c WHERE NOT IS_STRING(c.missing) AND c.a < 2", True),
        ("FROM c WHERE c.missing = 1 OR c.a = 2", False),
        ("FROM c WHERE NOT (c.missing = 1)", False),  # undefined is not false
        ("FROM c WHERE c.o.v = 'w'", True),
        ("FROM c WHERE IS_NULL(c.n) AND IS_DEFINED(c.n) AND NOT IS_DEFINED(c.missing)", True),
    ],
)
def test_conditions(condition: str, expected: bool) -> None:
    document = {"a": 1, "t": "x y", "n": None, "o": {"v": "w"}}
    assert meets(document, condition) is expected


def test_an_unsupported_query_is_rejected() -> None:
    with pytest.raises(NotImplementedError):
        compiled("SELECT VALUE SUM(c.a) FROM c")
    assert compiled("SELECT VALUE c.a FROM c").run([{"b": 1}], {}) == []
    assert UNDEFINED not in compiled("SELECT c.a, c.b FROM c").run([{"b": 1}], {})[0].values()
