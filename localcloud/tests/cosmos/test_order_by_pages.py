"""ORDER BY page by page: a page resumes after the last row's values and rid, despite deletions."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from azure.cosmos import ContainerProxy

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import Conditions
from localcloud.cosmos.errors import CosmosError
from localcloud.cosmos.queries import Scope
from tests.cosmos.conftest import RANGES, MakeContainer, engine_page
from tests.cosmos.raw import RawClient
from tests.support.clock import ManualClock
from tests.support.services import RunningService

MIXED: list[Any] = [
    None, True, False, 3, 2.5, -1, "b", "a", "", [1], [0], {"x": 1}, 3, "b", None, [1], True, 2**63 - 1,
]  # fmt: skip
MISSING = object()


@pytest.fixture
def account() -> Iterator[Account]:
    account = Account(None, ManualClock())
    account.create_database({"id": "d"}, Throughput())
    # The policy includes both paths by name, so ORDER BY also returns documents without them.
    policy = {"includedPaths": [{"path": "/*"}, {"path": "/x/?"}, {"path": "/y/?"}]}
    definition = {"id": "c", "partitionKey": {"paths": ["/pk"]}, "indexingPolicy": policy}
    account.create_container("d", definition, Throughput())
    yield account
    account.close()


@pytest.fixture
def documents(account: Account) -> Container:
    return account.container("d", "c")


def add(account: Account, container: Container, **fields: Any) -> None:
    document = {"pk": "p", **{name: value for name, value in fields.items() if value is not MISSING}}
    account.documents.create(container, container.key.of_values(["p"]), document)


def page_of(
    account: Account, container: Container, text: str, token: str | None, size: int = 3
) -> tuple[list[Any], str | None]:
    scope = Scope(container.key.of_values(["p"]))
    page = engine_page(account, container, scope, text, max_items=size, continuation=token)
    return [json.loads(item) for item in page.items], page.continuation


def paged(account: Account, container: Container, text: str, size: int = 3) -> list[Any]:
    rows, token = page_of(account, container, text, None, size)
    while token:
        more, token = page_of(account, container, text, token, size)
        rows += more
    return rows


ORDERS = ["c.x", "c.x DESC", "c.x, c.y", "c.x DESC, c.y", "c.x, c.y DESC", "c.y DESC, c.x DESC", "c.id"]


@pytest.mark.parametrize("order", ORDERS)
def test_pages_give_the_same_rows_as_one_page(account: Account, documents: Container, order: str) -> None:
    for number, value in enumerate([*MIXED, MISSING, MISSING]):
        add(account, documents, id=f"{number * 7 % 20:02}", x=value, y=[MISSING, None, 1, "z"][number % 4])
    text = f"SELECT VALUE c.id FROM c ORDER BY {order}"
    whole = paged(account, documents, text, 1000)
    assert len(whole) == 20
    assert paged(account, documents, text) == whole
    assert paged(account, documents, text, 1) == whole


@pytest.mark.parametrize("order", ORDERS)
def test_deleting_rows_of_earlier_pages_hides_no_later_row(
    account: Account, documents: Container, order: str
) -> None:
    for number, value in enumerate([*MIXED, MISSING, MISSING]):
        add(account, documents, id=f"{number:02}", x=value, y=[MISSING, None, 1, "z"][number % 4])
    text = f"SELECT VALUE c.id FROM c ORDER BY {order}"
    whole = paged(account, documents, text, 1000)
    seen: list[Any] = []
    token: str | None = None
    while token or not seen:
        rows, token = page_of(account, documents, text, token)
        for row in rows:
            account.documents.delete(documents, documents.key.of_values(["p"]), row, Conditions())
        seen += rows
    assert seen == whole


def test_a_row_added_before_the_cursor_repeats_nothing(account: Account, documents: Container) -> None:
    for number in range(10, 16):
        add(account, documents, id=str(number), x=number)
    text = "SELECT VALUE c.x FROM c ORDER BY c.x"
    first, token = page_of(account, documents, text, None)
    add(account, documents, id="early", x=0)
    add(account, documents, id="late", x=99)
    assert first == [10, 11, 12]
    assert page_of(account, documents, text, token, 10)[0] == [13, 14, 15, 99]


@pytest.mark.parametrize("order", ["c.x", "c.x DESC", "c.x, t"])
def test_the_rows_of_a_joined_document_are_split_over_pages(
    account: Account, documents: Container, order: str
) -> None:
    for number in range(4):
        add(
            account, documents, id=str(number), x=number % 2, tags=[f"{number}{letter}" for letter in "abcde"]
        )
    text = f"SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY {order}"
    whole = paged(account, documents, text, 1000)
    assert len(set(whole)) == 20
    assert paged(account, documents, text) == whole


def test_top_offset_and_limit_count_over_all_pages(account: Account, documents: Container) -> None:
    for number in range(30):
        add(account, documents, id=f"{number:02}", x=number)
    assert paged(account, documents, "SELECT TOP 10 VALUE c.x FROM c ORDER BY c.x DESC") == [
        *range(29, 19, -1)
    ]
    window = "SELECT VALUE c.x FROM c ORDER BY c.x OFFSET 5 LIMIT 10"
    assert paged(account, documents, window) == [*range(5, 15)]
    assert paged(account, documents, "SELECT VALUE c.x FROM c OFFSET 5 LIMIT 10") == [*range(5, 15)]


def test_distinct_values_in_order_resume_after_the_last_value(account: Account, documents: Container) -> None:
    for number in range(30):
        add(account, documents, id=str(number), x=number % 10)
    text = "SELECT DISTINCT VALUE c.x FROM c ORDER BY c.x"
    first, token = page_of(account, documents, text, None)
    for number in (0, 10, 20):
        account.documents.delete(documents, documents.key.of_values(["p"]), str(number), Conditions())
    assert first == [0, 1, 2]
    assert page_of(account, documents, text, token, 10)[0] == [*range(3, 10)]
    assert paged(account, documents, "SELECT DISTINCT VALUE c.x FROM c") == [*range(1, 10)]


def test_a_token_of_another_query_is_refused(account: Account, documents: Container) -> None:
    for number in range(5):
        add(account, documents, id=str(number), x=number)
    _, token = page_of(account, documents, "SELECT * FROM c ORDER BY c.x", None)
    for other in ("SELECT * FROM c ORDER BY c.x, c.y", "SELECT * FROM c", "SELECT c.x FROM c GROUP BY c.x"):
        with pytest.raises(CosmosError, match="continuation token"):
            page_of(account, documents, other, token)


def test_a_value_too_long_for_a_token_is_refused_only_where_one_is_needed(
    account: Account, documents: Container
) -> None:
    for number in range(4):
        add(account, documents, id=str(number), x=f"{number}" + "x" * 50_000)
    text = "SELECT VALUE c.id FROM c ORDER BY c.x"
    assert paged(account, documents, text, 10) == ["0", "1", "2", "3"]
    with pytest.raises(CosmosError, match="shorter property"):
        page_of(account, documents, text, None)


@pytest.fixture
def spread(container: ContainerProxy) -> ContainerProxy:
    """A container with forty documents over all ranges, with ties."""
    for number in range(40):
        container.create_item({"id": f"{number:02}", "pk": f"p{number % 8}", "x": number // 4})
    return container


@pytest.mark.parametrize(
    ("key", "number"), [("p1", 5), (None, 40)], ids=["one partition", "all partitions merged by the SDK"]
)
@pytest.mark.parametrize("order", ["c.x", "c.x DESC", "c.x, c.id DESC"])
def test_the_sdk_sees_every_document_although_each_page_is_deleted(
    spread: ContainerProxy, key: str | None, number: int, order: str
) -> None:
    scope: dict[str, Any] = {"partition_key": key} if key else {"enable_cross_partition_query": True}
    seen = []
    for page in spread.query_items(f"SELECT * FROM c ORDER BY {order}", max_item_count=2, **scope).by_page():
        for item in list(page):
            seen.append(item)
            spread.delete_item(item["id"], item["pk"])
    assert len(seen) == number
    assert len({item["id"] for item in seen}) == number
    values = [item["x"] for item in seen]
    assert values == sorted(values, reverse="c.x DESC" in order)


class RangeQuery:
    """A cross-partition ORDER BY as SDKs send it: the rewritten query for each range in turn."""

    def __init__(self, client: RawClient, container: ContainerProxy, text: str) -> None:
        self.client = client
        self.path = f"/{container.container_link}/docs"
        headers = {"x-ms-cosmos-is-query-plan-request": "true"}
        _, _, body = client.send("POST", self.path, {"query": text}, headers)
        self.text = json.loads(body)["queryInfo"]["rewrittenQuery"].replace(
            "{documentdb-formattableorderbyquery-filter}", "true"
        )

    def rows(self, number: int, resume: Any, **headers: str) -> tuple[int, list[Any], dict[str, str]]:
        status, answered, body = self.client.send(
            "POST",
            self.path,
            {"query": self.text, "resumeFilter": resume},
            {
                "x-ms-documentdb-isquery": "true",
                "content-type": "application/query+json",
                "x-ms-documentdb-partitionkeyrangeid": str(number),
                **headers,
            },
        )
        return status, json.loads(body).get("Documents", []), answered


@pytest.fixture
def raw(cosmos: RunningService) -> Iterator[RawClient]:
    with RawClient(cosmos.addresses["endpoint"]) as client:
        yield client


def ids(rows: list[Any]) -> list[str]:
    return [row["payload"]["id"] for row in rows]


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_a_resume_filter_starts_each_range_where_the_client_left_off(
    spread: ContainerProxy, raw: RawClient, direction: str
) -> None:
    query = RangeQuery(raw, spread, f"SELECT * FROM c ORDER BY c.x {direction}")
    ranges = [query.rows(number, None)[1] for number in range(RANGES)]
    assert sum(map(len, ranges)) == 40
    for number, rows in enumerate(ranges):
        for before, row in pairwise(rows):
            value, rid = row["payload"]["x"], row["_rid"]
            at = rows.index(row)
            tied = [other for other in rows if other["payload"]["x"] == value]
            first, after = rows.index(tied[0]), rows.index(tied[0]) + len(tied)
            assert query.rows(number, {"value": [value], "exclude": False})[1] == rows[first:]
            assert query.rows(number, {"value": [value], "exclude": True})[1] == rows[after:]
            assert query.rows(number, {"value": [value], "rid": rid, "exclude": False})[1] == rows[at:]
            earlier = {"value": [before["payload"]["x"]], "rid": before["_rid"], "exclude": True}
            assert query.rows(number, earlier)[1] == rows[at:]


def test_the_later_of_resume_filter_and_continuation_counts(spread: ContainerProxy, raw: RawClient) -> None:
    query = RangeQuery(raw, spread, "SELECT * FROM c ORDER BY c.x")
    number = max(range(RANGES), key=lambda number: len(query.rows(number, None)[1]))
    _, rows, _ = query.rows(number, None)
    _, page, headers = query.rows(number, None, **{"x-ms-max-item-count": "4"})
    token = {"x-ms-continuation": headers["x-ms-continuation"]}
    assert page == rows[:4]
    early = {"value": [rows[1]["payload"]["x"]], "rid": rows[1]["_rid"], "exclude": True}
    assert query.rows(number, early, **token)[1] == rows[4:]
    late = {"value": [rows[6]["payload"]["x"]], "rid": rows[6]["_rid"], "exclude": False}
    assert query.rows(number, late, **token)[1] == rows[6:]


def test_a_resume_filter_knows_null_undefined_and_booleans(
    make_container: MakeContainer, raw: RawClient
) -> None:
    policy = {"includedPaths": [{"path": "/*"}, {"path": "/x/?"}]}
    container = make_container(indexing_policy=policy)
    values: list[Any] = [MISSING, None, False, True, 5, 1.5 * 2**64, "s"]
    for number, value in enumerate(values):
        body: dict[str, Any] = {} if value is MISSING else {"x": value}
        container.create_item({"id": str(number), "pk": "p", **body})
    query = RangeQuery(raw, container, "SELECT * FROM c ORDER BY c.x")
    number = next(number for number in range(RANGES) if query.rows(number, None)[1])
    for position, value in enumerate([[], *values[1:5], 3 * 2**63, *values[6:]]):
        rows = query.rows(number, {"value": [value], "exclude": True})[1]
        assert ids(rows) == [str(later) for later in range(position + 1, len(values))]


@pytest.mark.parametrize(
    "resume",
    [
        {"value": [1, 2], "exclude": True},
        {"value": [{"type": "array", "low": 1, "high": 2}], "exclude": True},
        {"value": [1], "rid": "no-rid", "exclude": True},
        {"value": 1},
        [1],
    ],
)
def test_a_resume_filter_that_does_not_fit_is_refused(
    spread: ContainerProxy, raw: RawClient, resume: Any
) -> None:
    query = RangeQuery(raw, spread, "SELECT * FROM c ORDER BY c.x")
    assert query.rows(0, resume)[0] == 400


def test_the_answer_tells_in_which_direction_ties_are_ordered(spread: ContainerProxy, raw: RawClient) -> None:
    for text, reverse in (("c.x, c.id DESC", False), ("c.x DESC, c.id", True)):
        query = RangeQuery(raw, spread, f"SELECT * FROM c ORDER BY {text}")
        info = json.loads(query.rows(0, None)[2]["x-ms-cosmos-query-execution-info"])
        assert info == {"reverseRidEnabled": False, "reverseIndexScan": reverse}
