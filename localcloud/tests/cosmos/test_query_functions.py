"""Date, time and integer functions, through the SDK."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from azure.cosmos import ContainerProxy, DatabaseProxy, PartitionKey

from tests.cosmos.conftest import query

MOMENT = "'2020-01-02T03:04:05.6789123Z'"


@pytest.fixture(scope="module")
def one(database: DatabaseProxy) -> Iterator[ContainerProxy]:
    """A container with a single document, so that each expression is evaluated once."""
    container = database.create_container("one", PartitionKey("/pk"))
    container.create_item({"id": "1", "pk": "p", "s": "text"})
    yield container
    database.delete_container("one")


VALUES: list[tuple[str, Any]] = [
    ("DateTimeAdd('yyyy', 1, '2020-02-29T00:00:00Z')", "2021-02-28T00:00:00.0000000Z"),
    ("DateTimeAdd('mm', 1, '2020-01-31T00:00:00Z')", "2020-02-29T00:00:00.0000000Z"),
    ("DateTimeAdd('mm', -1, '2020-01-31T12:00:00.5Z')", "2019-12-31T12:00:00.5000000Z"),
    ("DateTimeAdd('day', -1, '2020-03-01T00:00:00Z')", "2020-02-29T00:00:00.0000000Z"),
    ("DateTimeAdd('hh', 25, '2020-03-01T00:00:00Z')", "2020-03-02T01:00:00.0000000Z"),
    ("DateTimeAdd('ms', -1, '2020-03-01T00:00:00Z')", "2020-02-29T23:59:59.9990000Z"),
    ("DateTimeAdd('ns', 250, '2020-03-01T00:00:00Z')", "2020-03-01T00:00:00.0000002Z"),
    ("DateTimeDiff('yyyy', '2028-01-01T01:02:03Z', '2020-01-03T01:02:03Z')", -8),
    ("DateTimeDiff('mm', '2019-12-31T23:59:59Z', '2020-01-01T00:00:00Z')", 1),
    ("DateTimeDiff('dd', '2020-01-01T00:00:00Z', '2021-01-01T00:00:00Z')", 366),
    ("DateTimeDiff('hh', '2020-01-01T00:59:59Z', '2020-01-01T01:00:00Z')", 1),
    ("DateTimeDiff('ss', '2020-01-01T00:00:00Z', '2020-01-01T00:01:00Z')", 60),
    (f"DateTimePart('yyyy', {MOMENT})", 2020),
    (f"DateTimePart('month', {MOMENT})", 1),
    (f"DateTimePart('mi', {MOMENT})", 4),
    (f"DateTimePart('ms', {MOMENT})", 678),
    (f"DateTimePart('mcs', {MOMENT})", 678912),
    (f"DateTimePart('ns', {MOMENT})", 678912300),
    (f"DateTimeToTimestamp({MOMENT})", 1577934245678),
    ("DateTimeToTimestamp('1969-12-31T23:59:59.999Z')", -1),
    ("DateTimeToTimestamp('2020-01-02T05:04:05+02:00')", 1577934245000),
    ("TimestampToDateTime(1594227912345)", "2020-07-08T17:05:12.3450000Z"),
    (f"DateTimeToTicks({MOMENT})", 15779342456789124),  # a double, as in the service's own example
    ("TicksToDateTime(15943607720000000)", "2020-07-10T05:59:32.0000000Z"),
    ("DateTimeFromParts(2020, 9, 4)", "2020-09-04T00:00:00.0000000Z"),
    ("DateTimeFromParts(2017, 4, 20, 13, 15, 20, 3456789)", "2017-04-20T13:15:20.3456789Z"),
    ("DateTimeBin('2021-01-08T18:35:00Z', 'hh')", "2021-01-08T18:00:00.0000000Z"),
    ("DateTimeBin('2021-01-08T18:35:00Z', 'hh', 5)", "2021-01-08T15:00:00.0000000Z"),
    ("DateTimeBin('2021-05-08T18:35:00Z', 'mm', 3)", "2021-04-01T00:00:00.0000000Z"),
    ("DateTimeBin('2021-01-08T18:35:00Z', 'dd', 7, '2021-01-01T00:00:00Z')", "2021-01-08T00:00:00.0000000Z"),
    ("GetCurrentTicks() > 17000000000000000", True),
    ("INTADD(20, 10)", 30),
    ("INTSUB(5, 7)", -2),
    ("INTMUL(-3, 4)", -12),
    ("INTDIV(-7, 2)", -3),
    ("INTMOD(-7, 2)", -1),
    ("INTBITAND(6, 3)", 2),
    ("INTBITOR(6, 3)", 7),
    ("INTBITXOR(6, 3)", 5),
    ("INTBITNOT(6)", -7),
    ("INTBITLEFTSHIFT(16, 4)", 256),
    ("INTBITRIGHTSHIFT(-16, 2)", -4),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[expression for expression, _ in VALUES])
def test_a_function_returns_the_documented_result(
    one: ContainerProxy, expression: str, expected: Any
) -> None:
    assert query(one, f"SELECT VALUE {expression} FROM c", key="p") == [expected]


UNDEFINED = [
    "DateTimeAdd('fortnight', 1, '2020-01-01T00:00:00Z')",
    "DateTimeAdd('yyyy', 1.5, '2020-01-01T00:00:00Z')",
    "DateTimeAdd('yyyy', 1e300, '2020-01-01T00:00:00Z')",
    "DateTimeAdd('dd', 999999999999, '2020-01-01T00:00:00Z')",
    "DateTimeAdd('mm', 1, '9999-12-31T00:00:00Z')",
    "DateTimePart('yyyy', 'yesterday')",
    "DateTimeToTimestamp(c.s)",
    "DateTimeFromParts(2020, 13, 1)",
    "DateTimeBin('2021-01-08T18:35:00Z', 'hh', 0)",
    "TicksToDateTime(1e30)",
    "INTDIV(1, 0)",
    "INTADD(1.5, 1)",
    "INTADD('1', 1)",
]


@pytest.mark.parametrize("expression", UNDEFINED)
def test_a_function_outside_its_domain_is_undefined(one: ContainerProxy, expression: str) -> None:
    assert query(one, f"SELECT VALUE {expression} FROM c", key="p") == []


def test_the_current_time_has_seven_digits_of_a_second(one: ContainerProxy) -> None:
    (now,) = query(one, "SELECT VALUE GetCurrentDateTime() FROM c", key="p")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", now)
