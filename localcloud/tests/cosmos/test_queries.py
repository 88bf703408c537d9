"""Queries through the SDK: in one partition, over all partitions, and page by page."""

from collections.abc import Iterator
from typing import Any

import pytest
from azure.cosmos import ContainerProxy, DatabaseProxy, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

from tests.cosmos.conftest import MakeContainer, query

DOCUMENTS: list[dict[str, Any]] = [
    {"id": "ada", "pk": "p0", "n": 3, "name": "Ada", "tags": ["x", "y"], "address": {"city": "London"}},
    {"id": "bob", "pk": "p1", "n": 1, "name": "Bob", "tags": ["y"], "address": {"city": "Paris"}},
    {"id": "cyd", "pk": "p2", "n": 2.5, "name": "Cyd", "tags": [], "rating": None},
    {"id": "dan", "pk": "p3", "n": 2, "name": "dan", "rows": [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}]},
    {"id": "eve", "pk": "p4", "name": "Eve", "flag": True, "rating": 5},
    {"id": "fay", "pk": "p0", "n": "text", "name": "Fay", "flag": False, "tags": ["x", 1, {"deep": 1}]},
]


@pytest.fixture(scope="module")
def people(database: DatabaseProxy) -> Iterator[ContainerProxy]:
    container = database.create_container("people", PartitionKey("/pk"))
    for document in DOCUMENTS:
        container.create_item(document)
    yield container
    database.delete_container("people")


FILTERS = [
    ("c.n > 2", ["ada", "cyd"]),
    ("c.n >= 2 AND c.n < 3", ["cyd", "dan"]),
    ("c.n = 2", ["dan"]),
    ("c.n != 2", ["ada", "bob", "cyd", "fay"]),
    ("NOT c.n = 2", ["ada", "bob", "cyd", "fay"]),
    ("NOT (c.n > 2)", ["bob", "dan"]),
    ("c.n = 'text'", ["fay"]),
    ("c.rating = null", ["cyd"]),
    ("IS_NULL(c.rating)", ["cyd"]),
    ("IS_DEFINED(c.rating)", ["cyd", "eve"]),
    ("NOT IS_DEFINED(c.n)", ["eve"]),
    ("IS_NUMBER(c.n) AND NOT IS_INTEGER(c.n)", ["cyd"]),
    ("IS_STRING(c.n)", ["fay"]),
    ("c.flag", ["eve"]),
    ("NOT c.flag", ["fay"]),
    ("c.flag = false OR c.n = 1", ["bob", "fay"]),
    ("c.name IN ('Ada', 'Bob', 'nobody', 7, null)", ["ada", "bob"]),
    ("c.name NOT IN ('Ada', 'Bob')", ["cyd", "dan", "eve", "fay"]),
    ("c.n BETWEEN 2 AND 3", ["ada", "cyd", "dan"]),
    ("c.n NOT BETWEEN 2 AND 3", ["bob"]),
    ("c.name LIKE '%a%'", ["ada", "dan", "fay"]),
    ("c.name LIKE 'A%'", ["ada"]),
    ("c.name LIKE '_v_'", ["eve"]),
    ("c.name LIKE '[A-B]%'", ["ada", "bob"]),
    ("c.name NOT LIKE '%a%'", ["bob", "cyd", "eve"]),
    ("STARTSWITH(c.name, 'D')", []),
    ("STARTSWITH(c.name, 'D', true)", ["dan"]),
    ("ENDSWITH(c.name, 'b')", ["bob"]),
    ("CONTAINS(c.name, 'y')", ["cyd", "fay"]),
    ("LOWER(c.name) = 'eve'", ["eve"]),
    ("REGEXMATCH(c.name, '^[A-C].{2}$')", ["ada", "bob", "cyd"]),
    ("c.address.city = 'Paris'", ["bob"]),
    ("c['address']['city'] = \"London\"", ["ada"]),
    ("c.tags[0] = 'y'", ["bob"]),
    ("ARRAY_CONTAINS(c.tags, 'x')", ["ada", "fay"]),
    ("ARRAY_CONTAINS(c.tags, 1)", ["fay"]),
    ("ARRAY_CONTAINS(c.tags, {'deep': 1}, true)", ["fay"]),
    ("ARRAY_LENGTH(c.tags) = 0", ["cyd"]),
    ("ARRAY_CONTAINS(['ada', 'eve'], c.id)", ["ada", "eve"]),
    ("EXISTS (SELECT VALUE r FROM r IN c.rows WHERE r.v = 'b')", ["dan"]),
    ("EXISTS (SELECT VALUE t FROM t IN c.tags WHERE t = 'y')", ["ada", "bob"]),
    ("c.address = {'city': 'Paris'}", ["bob"]),
    ("c.tags = ['y']", ["bob"]),
    ("(c.n ?? 100) = 100", ["eve"]),
    ("(c.flag ? c.rating : 0) = 5", ["eve"]),
    ("c.n + 1 = 4", ["ada"]),
    ("c.n % 2 = 1", ["ada", "bob"]),
    ("c.n > 'a'", ["fay"]),
    ("c.missing != 1", []),
    ("true", ["ada", "bob", "cyd", "dan", "eve", "fay"]),
]


@pytest.mark.parametrize(("condition", "expected"), FILTERS, ids=[condition for condition, _ in FILTERS])
def test_a_condition_selects_these_documents(
    people: ContainerProxy, condition: str, expected: list[str]
) -> None:
    assert sorted(query(people, f"SELECT VALUE c.id FROM c WHERE {condition}")) == expected


VALUES = [
    ("UPPER('aé') || LOWER('B')", "AÉb"),
    ("CONCAT('a', 'b', 'c')", "abc"),
    ("SUBSTRING('abcdef', 1, 3)", "bcd"),
    ("LEFT('abc', 2)", "ab"),
    ("RIGHT('abc', 2)", "bc"),
    ("LENGTH('four')", 4),
    ("INDEX_OF('abcabc', 'c', 3)", 5),
    ("INDEX_OF('abc', 'z')", -1),
    ("REPLACE('aXbX', 'X', '-')", "a-b-"),
    ("REPLICATE('ab', 3)", "ababab"),
    ("REVERSE('abc')", "cba"),
    ("TRIM('  a ')", "a"),
    ("LTRIM('  a')", "a"),
    ("TOSTRING(1.0)", "1"),
    ("TOSTRING(true)", "true"),
    ("STRINGTONUMBER('1.5')", 1.5),
    ("STRINGTOARRAY('[1, 2]')", [1, 2]),
    ("STRINGTOBOOLEAN('true')", True),
    ("StringEquals('A', 'a', true)", True),
    ("ABS(-2)", 2),
    ("CEILING(1.2)", 2),
    ("FLOOR(-1.2)", -2),
    ("ROUND(2.5)", 3),
    ("ROUND(-2.5)", -3),
    ("TRUNC(-1.7)", -1),
    ("SQRT(9)", 3),
    ("SQUARE(3)", 9),
    ("POWER(2, 10)", 1024),
    ("SIGN(-7)", -1),
    ("LOG10(1000)", 3),
    ("EXP(0)", 1),
    ("PI() > 3.14", True),
    ("7 / 2", 3.5),
    ("7 % 4", 3),
    ("1 + 2 * 3 - 4", 3),
    ("(1 + 2) * 3", 9),
    ("5 & 3", 1),
    ("5 | 3", 7),
    ("5 ^ 3", 6),
    ("~5", -6),
    ("ARRAY_CONCAT([1], [2, 3])", [1, 2, 3]),
    ("ARRAY_SLICE([1, 2, 3, 4], 1, 2)", [2, 3]),
    ("ARRAY_SLICE([1, 2, 3], -2)", [2, 3]),
    ("ARRAY_LENGTH([1, 2])", 2),
    ("SetIntersect([1, 2, 2], [2, 3])", [2]),
    ("SetUnion([1, 2], [2, 3])", [1, 2, 3]),
    ("IIF(1 < 2, 'yes', 'no')", "yes"),
    ("IS_ARRAY([])", True),
    ("IS_OBJECT({})", True),
    ("IS_PRIMITIVE([])", False),
    ("IS_BOOL(false)", True),
    ("undefined ?? 'fallback'", "fallback"),
    ("null ?? 'fallback'", None),
    ("true ? 1 : 2", 1),
    ("'it\\'s'", "it's"),
    ('"tab\\t\\u00e9"', "tab\té"),
    ("{'a': 1, b: [true, null], 'gone': undefined}", {"a": 1, "b": [True, None]}),
    ("1 = '1'", False),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[expression for expression, _ in VALUES])
def test_an_expression_has_this_value(people: ContainerProxy, expression: str, expected: Any) -> None:
    assert query(people, f"SELECT VALUE {expression}", key="p0") == [expected]


@pytest.mark.parametrize(
    "expression", ["NOT (1 > 'a')", "1 + 'a'", "LENGTH(1)", "SQRT(-1)", "1 / 0", "undefined"]
)
def test_an_expression_without_a_value_gives_no_row(people: ContainerProxy, expression: str) -> None:
    assert query(people, f"SELECT VALUE {expression}", key="p0") == []


def test_projections_omit_undefined_values(people: ContainerProxy) -> None:
    found = query(
        people, "SELECT c.id, c.n, c.address.city AS town, c.nothing FROM c WHERE c.id IN ('bob', 'eve')"
    )
    assert sorted(found, key=lambda item: item["id"]) == [
        {"id": "bob", "n": 1, "town": "Paris"},
        {"id": "eve"},
    ]


def test_values_that_are_undefined_give_no_row(people: ContainerProxy) -> None:
    assert sorted(query(people, "SELECT VALUE c.flag FROM c")) == [False, True]


def test_a_join_gives_a_row_for_each_item(people: ContainerProxy) -> None:
    found = query(people, "SELECT c.id, r.k FROM c JOIN r IN c.rows")
    assert found == [{"id": "dan", "k": 1}, {"id": "dan", "k": 2}]
    crossed = query(
        people, "SELECT a AS x, b AS y FROM c JOIN a IN c.tags JOIN b IN c.tags WHERE c.id = 'ada'"
    )
    assert len(crossed) == 4
    assert query(people, "SELECT VALUE t FROM t IN c.tags WHERE IS_OBJECT(t)") == [{"deep": 1}]
    assert (
        len(query(people, "SELECT VALUE s FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t = 'y') AS s"))
        == 2
    )


def test_subqueries_count_and_collect_within_a_document(people: ContainerProxy) -> None:
    text = (
        "SELECT c.id, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS count, "
        "ARRAY(SELECT VALUE UPPER(t) FROM t IN c.tags) AS upper FROM c WHERE c.id = 'ada'"
    )
    assert query(people, text) == [{"id": "ada", "count": 2, "upper": ["X", "Y"]}]


def test_a_subquery_in_from_goes_over_the_documents(people: ContainerProxy) -> None:
    inner = "SELECT c.id, c.address.city FROM c WHERE IS_DEFINED(c.address)"
    assert query(people, f"SELECT VALUE u FROM ({inner}) u ORDER BY u.id") == [
        {"id": "ada", "city": "London"},
        {"id": "bob", "city": "Paris"},
    ]
    assert query(people, "SELECT VALUE t FROM (SELECT VALUE t FROM t IN c.tags) t", key="p1") == ["y"]
    joined = "SELECT c.id, t.n FROM c JOIN (SELECT COUNT(1) AS n FROM t IN c.tags) AS t"
    assert query(people, joined, key="p1") == [{"id": "bob", "n": 1}]
    with pytest.raises(CosmosHttpResponseError, match="subquery in FROM"):
        query(people, "SELECT * FROM (SELECT COUNT(1) AS n FROM c) AS u", key="p0")


def test_comments_and_hexadecimal_numbers_are_read(people: ContainerProxy) -> None:
    text = "SELECT /* of all\n */ VALUE c.id FROM c WHERE c.n = 0x2 -- dan"
    assert query(people, text) == ["dan"]
    with pytest.raises(CosmosHttpResponseError, match="out of range"):
        query(people, f"SELECT VALUE 0x{'f' * 17} FROM c")


def test_order_by_sorts_types_then_values(people: ContainerProxy) -> None:
    numbers = "SELECT VALUE c.id FROM c WHERE IS_NUMBER(c.n) ORDER BY c.n"
    assert query(people, numbers) == ["bob", "dan", "cyd", "ada"]
    assert query(people, f"{numbers} DESC") == ["ada", "cyd", "dan", "bob"]
    assert query(people, "SELECT VALUE c.id FROM c ORDER BY c.n", key="p0") == ["ada", "fay"]


def test_order_by_leaves_out_documents_without_the_property(people: ContainerProxy) -> None:
    """Azure does the same with the default indexing policy, and the SDK could not merge such rows."""
    text = "SELECT VALUE c.id FROM c WHERE c.id != 'fay' ORDER BY c.n"
    assert query(people, text) == ["bob", "dan", "cyd", "ada"]
    assert query(people, f"{text} DESC OFFSET 1 LIMIT 9") == ["cyd", "dan", "bob"]
    assert query(people, "SELECT VALUE c.name FROM c ORDER BY c.address.city") == ["Ada", "Bob"]


def test_order_by_a_path_that_the_indexing_policy_names_gives_them_first(
    make_container: MakeContainer,
) -> None:
    paths = [{"path": "/n/?"}, {"path": '/"a b"/c/?'}, {"path": "/*"}]
    container = make_container(indexing_policy={"includedPaths": paths, "excludedPaths": []})
    container.create_item({"id": "with", "pk": "p", "n": 1, "m": 1, "a b": {"c": 1}})
    container.create_item({"id": "without", "pk": "p"})
    for path, found in (("c.n", ["without", "with"]), ("c['a b'].c", ["without", "with"]), ("c.m", ["with"])):
        assert query(container, f"SELECT VALUE c.id FROM c ORDER BY {path}", key="p") == found


def test_order_by_several_keys_and_directions(make_container: MakeContainer) -> None:
    container = make_container()
    for number in range(12):
        container.create_item({"id": str(number), "pk": str(number), "a": number % 3, "b": number})
    found = query(container, "SELECT c.a, c.b FROM c ORDER BY c.a ASC, c.b DESC")
    assert [(item["a"], item["b"]) for item in found] == sorted(
        ((n % 3, n) for n in range(12)), key=lambda pair: (pair[0], -pair[1])
    )


def test_aggregates_over_all_ranges(people: ContainerProxy) -> None:
    assert query(people, "SELECT VALUE COUNT(1) FROM c") == [6]
    assert query(people, "SELECT VALUE COUNT(c.n) FROM c") == [5]
    assert query(people, "SELECT VALUE SUM(c.n) FROM c WHERE IS_NUMBER(c.n)") == [8.5]
    assert query(people, "SELECT VALUE AVG(c.n) FROM c WHERE IS_NUMBER(c.n)") == [2.125]
    assert query(people, "SELECT VALUE MIN(c.name) FROM c") == ["Ada"]
    assert query(people, "SELECT VALUE MAX(c.n) FROM c") == ["text"]
    assert query(people, "SELECT VALUE COUNTIF(c.n > 1) FROM c") == [3]
    assert query(people, "SELECT VALUE COUNT(1) FROM c WHERE c.id = 'nobody'") == [0]
    assert query(people, "SELECT VALUE SUM(c.n) FROM c WHERE c.id = 'nobody'") == [0]


def test_aggregates_in_a_partition(people: ContainerProxy) -> None:
    assert query(people, "SELECT VALUE COUNTIF(IS_STRING(c.n)) FROM c", key="p0") == [1]
    assert query(people, "SELECT VALUE SUM(c.nothing) FROM c", key="p0") == [0]
    assert query(people, "SELECT VALUE SUM(c.n) FROM c", key="p0") == []  # one is a string
    assert query(people, "SELECT VALUE AVG(c.nothing) FROM c", key="p0") == []
    assert query(people, "SELECT COUNT(1) AS n, MAX(c.name) AS last FROM c", key="p0") == [
        {"n": 2, "last": "Fay"}
    ]


def test_aggregates_without_value_over_all_partitions_are_refused_in_the_clients_own_words(
    people: ContainerProxy,
) -> None:
    with pytest.raises(CosmosHttpResponseError, match="only supports 'VALUE <AggregateFunc>'"):
        query(people, "SELECT COUNT(1) AS n, MAX(c.name) AS last FROM c")


def test_distinct_top_and_offset_over_all_ranges(people: ContainerProxy) -> None:
    assert sorted(query(people, "SELECT DISTINCT VALUE c.pk FROM c")) == ["p0", "p1", "p2", "p3", "p4"]
    assert query(people, "SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk") == ["p0", "p1", "p2", "p3", "p4"]
    assert len(query(people, "SELECT TOP 2 * FROM c")) == 2
    assert query(people, "SELECT TOP 2 VALUE c.id FROM c ORDER BY c.id DESC") == ["fay", "eve"]
    assert query(people, "SELECT VALUE c.id FROM c ORDER BY c.id OFFSET 1 LIMIT 2") == ["bob", "cyd"]
    assert query(people, "SELECT VALUE c.id FROM c ORDER BY c.id OFFSET @o LIMIT @l", o=4, l=9) == [
        "eve",
        "fay",
    ]


def test_group_by_within_a_partition(make_container: MakeContainer) -> None:
    container = make_container()
    for number in range(10):
        container.create_item({"id": str(number), "pk": "p", "g": number % 2, "n": number})
    found = query(
        container,
        "SELECT c.g, COUNT(1) AS n, SUM(c.n) AS total, MAX(c.n) AS most FROM c GROUP BY c.g",
        key="p",
    )
    assert sorted(found, key=lambda row: row["g"]) == [
        {"g": 0, "n": 5, "total": 20, "most": 8},
        {"g": 1, "n": 5, "total": 25, "most": 9},
    ]


def test_group_by_over_all_partitions_is_refused_to_a_client_that_cannot_merge_it(
    people: ContainerProxy,
) -> None:
    """As in Azure, because this SDK does not announce the GroupBy feature."""
    with pytest.raises(CosmosHttpResponseError, match="GroupBy") as error:
        query(people, "SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk")
    assert error.value.status_code == 400


def test_a_query_over_all_partitions_needs_leave(people: ContainerProxy) -> None:
    with pytest.raises(CosmosHttpResponseError, match=r"[Cc]ross partition") as error:
        list(people.query_items("SELECT * FROM c"))
    assert error.value.status_code == 400
    assert [item["id"] for item in people.query_items("SELECT * FROM c WHERE c.pk = 'p1'")] == ["bob"]


def test_parameters_of_every_type(people: ContainerProxy) -> None:
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.name = @n", n="Ada") == ["ada"]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.n = @n", n=2.5) == ["cyd"]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.flag = @n", n=True) == ["eve"]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.rating = @n", n=None) == ["cyd"]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.address = @n", n={"city": "Paris"}) == ["bob"]
    assert sorted(query(people, "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@n, c.n)", n=[1, 2])) == [
        "bob",
        "dan",
    ]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c[@p] = @n", p="name", n="Bob") == ["bob"]
    assert query(people, "SELECT VALUE c.id FROM c WHERE c.name = @n", n="Bob") == ["bob"]
    with pytest.raises(CosmosHttpResponseError, match="@gone"):
        query(people, "SELECT * FROM c WHERE c.n = @gone")


PAGED = [
    "SELECT * FROM c",
    "SELECT c.id, t FROM c JOIN t IN c.list",
    "SELECT * FROM c ORDER BY c.n DESC",
    "SELECT DISTINCT c.g FROM c",
    "SELECT TOP 33 * FROM c",
    "SELECT * FROM c OFFSET 5 LIMIT 31",
]


@pytest.fixture(scope="module")
def numbers(database: DatabaseProxy) -> Iterator[ContainerProxy]:
    container = database.create_container("numbers", PartitionKey("/pk"))
    for number in range(60):
        container.create_item(
            {"id": str(number), "pk": "one", "n": number, "g": number % 25, "list": [1, 2, 3]}
        )
    yield container
    database.delete_container("numbers")


@pytest.mark.parametrize("text", PAGED)
def test_pages_hold_no_more_than_asked_and_give_the_whole_result(numbers: ContainerProxy, text: str) -> None:
    whole = query(numbers, text, key="one")
    pages = [
        list(page) for page in numbers.query_items(text, partition_key="one", max_item_count=7).by_page()
    ]
    assert [item for page in pages for item in page] == whole
    assert max(map(len, pages)) == 7


@pytest.mark.parametrize("text", PAGED)
def test_a_continuation_token_resumes_in_a_new_query(numbers: ContainerProxy, text: str) -> None:
    whole = query(numbers, text, key="one")
    found: list[Any] = []
    token: str | None = None
    while True:
        pager = numbers.query_items(text, partition_key="one", max_item_count=10).by_page(token)
        found += list(next(pager))
        token = pager.continuation_token  # type: ignore[attr-defined]
        if not token:
            break
    assert found == whole


def test_documents_written_between_pages_neither_repeat_nor_hide_others(container: ContainerProxy) -> None:
    for number in range(20):
        container.create_item({"id": str(number), "pk": "p"})
    pager = container.query_items("SELECT VALUE c.id FROM c", partition_key="p", max_item_count=5).by_page()
    seen: list[Any] = list(next(pager))
    container.create_item({"id": "new", "pk": "p"})
    container.delete_item("0", "p")
    for page in pager:
        seen += list(page)
    assert seen == [*map(str, range(20)), "new"]


@pytest.mark.parametrize("token", ["garbage", "WzEsMl0=", "bnVsbA==", "x" * 5000])
def test_a_token_that_is_not_ours_is_refused(numbers: ContainerProxy, token: str) -> None:
    with pytest.raises(CosmosHttpResponseError) as error:
        next(numbers.query_items("SELECT * FROM c", partition_key="one").by_page(token))
    assert error.value.status_code == 400


SYNTAX_ERRORS = [
    "SELECT",
    "SELECT * FROM",
    "SELECT * FROM c WHERE",
    "SELECT * FORM c",
    "SELECT c.a. FROM c",
    "SELECT * FROM c WHERE c.x = 'open",
    "SELECT * FROM c ORDER c.x",
    "SELECT VALUE nobody.x FROM c",
    "SELECT NOSUCH(c.x) FROM c",
    "SELECT udf.f(c.x) FROM c",
    "SELECT LENGTH() FROM c",
]


@pytest.mark.parametrize("text", SYNTAX_ERRORS)
def test_a_query_that_makes_no_sense_is_the_clients_error(people: ContainerProxy, text: str) -> None:
    with pytest.raises(CosmosHttpResponseError) as error:
        query(people, text, key="p0")
    assert error.value.status_code == 400


def test_feed_ranges_split_a_container_without_gap_or_overlap(people: ContainerProxy) -> None:
    ranges = list(people.read_feed_ranges())
    assert len(ranges) == 3
    parts = [people.query_items("SELECT * FROM c", feed_range=part) for part in ranges]
    found = [item["id"] for part in parts for item in part]
    assert sorted(found) == sorted(document["id"] for document in DOCUMENTS)


def test_all_documents_can_be_read_without_a_query(numbers: ContainerProxy) -> None:
    assert len(list(numbers.read_all_items(max_item_count=7))) == 60


def test_a_query_for_conflicts_over_all_partitions_needs_leave_too(container: ContainerProxy) -> None:
    text = "SELECT * FROM r"
    assert list(container.query_conflicts(text, partition_key="p")) == []
    with pytest.raises(CosmosHttpResponseError, match=r"[Cc]ross partition"):
        list(container.query_conflicts(text))
