"""Query plans: instructions for an SDK that merges the results of several partition-key ranges.

A plan lists the client's work (merge by ORDER BY, combine aggregates, drop duplicates, apply TOP and OFFSET).
Its rewritten query returns each range's results in the form that the client merges.
"""

from typing import Any

import orjson

from localcloud.cosmos import sql_ast as ast
from localcloud.cosmos.errors import CosmosError, bad_request

_KINDS = {"COUNT": "Count", "COUNTIF": "CountIf", "SUM": "Sum", "AVG": "Average", "MIN": "Min", "MAX": "Max"}
_FILTER = "({documentdb-formattableorderbyquery-filter})"
_WHOLE_RANGE = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}


def needs_client(plan: dict[str, Any]) -> CosmosError:
    """Return the gateway's error for a cross-partition query that needs the client's help."""
    return CosmosError(
        400,
        "The provided cross partition query can not be directly served by the gateway. This is a first "
        "chance (internal) exception that all newer clients will know how to handle gracefully.",
        substatus=1004,
        details={"additionalErrorInfo": orjson.dumps(plan).decode()},
    )


def query_plan(
    query: ast.Query, parameters: dict[str, Any], features: frozenset[str] | None
) -> dict[str, Any]:
    """Return the plan. Raise 400 if it needs a feature that the client does not support."""
    info: dict[str, Any] = {
        "distinctType": _distinct_type(query),
        "top": _count(query.top, parameters),
        "offset": _count(query.offset, parameters),
        "limit": _count(query.limit, parameters),
        "orderBy": ["Descending" if key.descending else "Ascending" for key in query.order_by],
        "orderByExpressions": [key.text for key in query.order_by],
        "groupByExpressions": [key.text for key in query.group_by],
        "groupByAliases": [],
        "aggregates": [],
        "groupByAliasToAggregateType": {},
        "rewrittenQuery": "",
        "hasSelectValue": query.select_value,
        "hasNonStreamingOrderBy": False,
    }
    needed = _describe(query, parameters, info)
    if features is not None and "NonValueAggregate" in needed - features:
        # The Python SDK does not announce this feature, and has its own error message for such a plan.
        info["aggregates"] = [kind for kind in info["groupByAliasToAggregateType"].values() if kind]
        needed -= {"NonValueAggregate", "MultipleAggregates"}
    if features is not None and (missing := needed - features):
        raise bad_request(
            "Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support "
            "the requested features, or give the query a partition key:\n"
            + "\n".join(
                f"Query contained {name}, which the calling client does not support."
                + (" Ask for SUM and COUNT instead of AVG." if name == "CompositeAggregate" else "")
                for name in sorted(missing)
            )
        )
    return {"partitionedQueryExecutionInfoVersion": 2, "queryInfo": info, "queryRanges": [_WHOLE_RANGE]}


def _describe(query: ast.Query, parameters: dict[str, Any], info: dict[str, Any]) -> set[str]:
    """Fill in the rewritten query and return the features that the client needs."""
    needed = {
        name
        for name, used in (
            ("Distinct", query.distinct),
            ("Top", query.top is not None),
            ("OffsetAndLimit", query.offset is not None),
            ("OrderBy", bool(query.order_by)),
            ("MultipleOrderBy", len(query.order_by) > 1),
        )
        if used
    }
    if query.group_by or query.aggregates:
        if query.order_by and query.group_by:
            raise bad_request("ORDER BY cannot be combined with GROUP BY")
        info["orderBy"] = info["orderByExpressions"] = []  # a single result has no order
        return needed | _describe_groups(query, info)
    if query.order_by:
        info["rewrittenQuery"] = _ordered(query, parameters)
    elif query.offset is not None:
        selected = "*" if query.select is None else f"VALUE {_payload(query)}"
        head = f"SELECT {'DISTINCT ' if query.distinct else ''}{selected}"
        info["rewrittenQuery"] = f"{head} {_from_where(query)} {_window(query, parameters)}"
    return needed


def _describe_groups(query: ast.Query, info: dict[str, Any]) -> set[str]:
    items = query.select or ()
    for item in items:
        if ast.contains_aggregate(item.expr) and not _is_aggregate(item.expr):
            raise bad_request(
                "over several partitions, an aggregate cannot be part of a larger SELECT expression"
            )
    kinds = [
        _KINDS[item.expr.name]
        for item in items
        if isinstance(item.expr, ast.Call) and _is_aggregate(item.expr)
    ]
    features = {
        "Aggregate": bool(kinds),
        "CompositeAggregate": "Average" in kinds,
        "CountIf": "CountIf" in kinds,
        "GroupBy": bool(query.group_by),
        "NonValueAggregate": bool(kinds) and not query.select_value and not query.group_by,
        "MultipleAggregates": len(kinds) > 1 and not query.select_value,
    }
    needed = {name for name, used in features.items() if used}
    tail = _from_where(query)
    if query.group_by:
        tail += f" GROUP BY {', '.join(key.text for key in query.group_by)}"
        groups = ", ".join(f'{{"item": {key.text}}}' for key in query.group_by)
        head = f"[{groups}] AS groupByItems, "
    if query.select_value:
        info["aggregates"] = kinds
        share = f"[{_share(items[0])}]" if kinds else items[0].text
        head_value = f"SELECT {head}{share} AS payload" if query.group_by else f"SELECT VALUE {share}"
        info["rewrittenQuery"] = f"{head_value} {tail}"
        return needed
    info["groupByAliases"] = [item.alias for item in items]
    info["groupByAliasToAggregateType"] = {
        item.alias: _KINDS[item.expr.name]
        if isinstance(item.expr, ast.Call) and _is_aggregate(item.expr)
        else None
        for item in items
    }
    payload = ", ".join(
        f"{orjson.dumps(item.alias).decode()}: {_share(item) if _is_aggregate(item.expr) else item.text}"
        for item in items
    )
    info["rewrittenQuery"] = f"SELECT {head if query.group_by else ''}{{{payload}}} AS payload {tail}"
    return needed


def _is_aggregate(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Call) and expr.name in ast.AGGREGATES


def _share(item: ast.SelectItem) -> str:
    """Return the expression for one range's share of an aggregate."""
    if isinstance(item.expr, ast.Call) and item.expr.name == "AVG":
        inner = item.text[item.text.index("(") :]
        return f'{{"item": {{"sum": SUM{inner}, "count": COUNT{inner}}}}}'
    if isinstance(item.expr, ast.Call) and item.expr.name in ("MIN", "MAX"):
        inner = item.text[item.text.index("(") :]
        extreme = f'{{"{item.expr.name.lower()}": {item.text}, "count": COUNT{inner}}}'
        return f'{{"item": {item.text}, "item2": {extreme}}}'  # the JavaScript client reads item2
    return f'{{"item": {item.text}}}'


def _ordered(query: ast.Query, parameters: dict[str, Any]) -> str:
    items = ", ".join(f'{{"item": {key.text}}}' for key in query.order_by)
    root = query.sources[0].alias
    keys = ", ".join(f"{key.text} {'DESC' if key.descending else 'ASC'}" for key in query.order_by)
    conditions = [f"({query.where_text})"] if query.where_text else []
    if query.select_value and query.select is not None:  # a row without a payload would break the client
        conditions.append(f"IS_DEFINED({query.select[0].text})")
    where = f"WHERE {' AND '.join([*conditions, _FILTER])}"
    top = f"TOP {_count(query.top, parameters)} " if query.top is not None else ""
    window = _window(query, parameters)
    if query.distinct:  # the client drops duplicates before it counts
        top = window = ""
    return (
        f"SELECT {top}{root}._rid, [{items}] AS orderByItems, {_payload(query)} AS payload {query.from_text} "
        f"{where} ORDER BY {keys} {window}"
    )


def _payload(query: ast.Query) -> str:
    if query.select is None:
        return query.sources[0].alias
    if query.select_value:
        return query.select[0].text
    members = ", ".join(f"{orjson.dumps(item.alias).decode()}: {item.text}" for item in query.select)
    return "{" + members + "}"


def _from_where(query: ast.Query) -> str:
    return f"{query.from_text} WHERE {query.where_text}" if query.where_text else query.from_text


def _window(query: ast.Query, parameters: dict[str, Any]) -> str:
    if query.offset is None:
        return ""
    total = (_count(query.offset, parameters) or 0) + (_count(query.limit, parameters) or 0)
    return f"OFFSET 0 LIMIT {total}"


def _count(expr: ast.Expr | None, parameters: dict[str, Any]) -> int | None:
    if expr is None:
        return None
    value = expr.value if isinstance(expr, ast.Const) else None
    if isinstance(expr, ast.Param):
        value = parameters.get(expr.name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad_request("TOP, OFFSET and LIMIT take a whole number from 0 up")
    return value


def _distinct_type(query: ast.Query) -> str:
    if not query.distinct:
        return "None"
    selected = [item.expr for item in query.select or ()]
    return "Ordered" if selected and selected == [key.expr for key in query.order_by] else "Unordered"


def pinned_values(
    query: ast.Query, parameters: dict[str, Any], paths: tuple[tuple[str, ...], ...]
) -> list[Any] | None:
    """Return the partition key's values if the WHERE clause requires them."""
    found = _equalities(query, parameters)
    return [found[path] for path in paths] if all(path in found for path in paths) else None


def _equalities(query: ast.Query, parameters: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """Return the document paths that must equal a constant, with the constants."""
    where = query.where
    conjuncts = where.operands if isinstance(where, ast.Logic) and where.op == "AND" else (where,)
    found: dict[tuple[str, ...], Any] = {}
    if not query.sources or query.sources[0].expr is not None:
        return found
    for conjunct in conjuncts:
        if isinstance(conjunct, ast.Binary) and conjunct.op == "=":
            for side, other in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
                path = _path(side, query.sources[0].alias)
                if path and isinstance(other, ast.Const | ast.Param):
                    found[path] = other.value if isinstance(other, ast.Const) else parameters.get(other.name)
    return found


def _path(expr: ast.Expr, root: str) -> tuple[str, ...]:
    names: list[str] = []
    while (
        isinstance(expr, ast.Member) and isinstance(expr.key, ast.Const) and isinstance(expr.key.value, str)
    ):
        names.insert(0, expr.key.value)
        expr = expr.base
    return tuple(names) if expr == ast.Name(root) else ()
