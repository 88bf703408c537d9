"""Route templates, their constraints and their precedence."""

import pytest

from localcloud.functions.problems import Problems
from localcloud.functions.routes import Match, Route, Router, split_path, warn_of_overlaps
from localcloud.functions.template import TemplateError, parse_template


def match(template: str, path: str) -> dict[str, str] | None:
    return parse_template(template).match(split_path(path))


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("api/hello", "/api/hello", {}),
        ("api/Hello", "/API/hello", {}),
        ("api/hello", "/api/hello/", {}),
        ("api/hello", "/api/hello/x", None),
        ("api/hello", "/api", None),
        ("a/{id}", "/a/7", {"id": "7"}),
        ("a/{id}", "/a/", None),
        ("a/{id}/b", "/a/7/b", {"id": "7"}),
        ("a/{id?}", "/a", {}),
        ("a/{id?}", "/a/7", {"id": "7"}),
        ("a/{id:int?}", "/a", {}),
        ("a/{id:int?}", "/a/x", None),
        ("{id:maxlength(0)?}", "/", {}),
        ("{id:maxlength(0)?}", "/x", None),
        ("{*path}", "/", {}),
        ("{*path}", "/x/y/z", {"path": "x/y/z"}),
        ("files/{*path}", "/files/a/b.txt", {"path": "a/b.txt"}),
        ("a/{name}", "/a/caf%C3%A9%20x", {"name": "café x"}),
        ("a/{name}", "/a/x%2Fy", {"name": "x%2Fy"}),
        ("a/{name}", "/a/x//", {"name": "x"}),
        ("a/{name}/b", "/a//b", None),
        ("", "/", {}),
    ],
)
def test_a_template_matches_as_in_asp_net(template: str, path: str, values: dict[str, str] | None) -> None:
    assert match(template, path) == values


@pytest.mark.parametrize(
    ("constraint", "accepted", "refused"),
    [
        ("int", ["0", "-5", "2147483647"], ["2147483648", "1.5", "x", "٣"]),
        ("minlength(4)", ["Rick"], ["Ric"]),
        ("maxlength(8)", ["Mister"], ["Mister Ed"]),
    ],
)
def test_a_constraint_tells_its_values(constraint: str, accepted: list[str], refused: list[str]) -> None:
    template = parse_template(f"a/{{v:{constraint}}}")
    for value in accepted:
        assert template.match(["a", value]) == {"v": value}
    for value in refused:
        assert template.match(["a", value]) is None


@pytest.mark.parametrize(
    "template",
    [
        "a/{id",
        "a/id}",
        "a//b",
        "{id}/{ID}",
        "{*rest}/more",
        "x{*rest}",
        "a/{id:unknown}",
        "a/{id:min(x)}",
        "a/{id:int(3)}",
        "a/{id:maxlength()}",
        "a/{id:maxlength}",
        "a/{id:regex([a-z])}",
        "a/{id:int:minlength(2)}",
        "files/{name}.{ext}",
        "v{version:int}",
        "a/{{b}}",
        "a/{id=5}",
        "{a}{b}",
        "{a?}.{b}",
        "a/{}",
        "a/{id=5?}",
        "what?",
    ],
)
def test_a_malformed_template_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        parse_template(template)


def router(*templates: str) -> Router:
    return Router([Route(template, parse_template(template), None) for template in templates])


@pytest.mark.parametrize(
    ("path", "winner"),
    [
        ("/a/list", "a/list"),
        ("/a/7", "a/{id:int}"),
        ("/a/other", "a/{id}"),
        ("/a/other/more", "a/{*rest:minlength(6)}"),
        ("/a/x/y", "{*all}"),
        ("/b", "{*all}"),
    ],
)
def test_the_more_specific_template_wins(path: str, winner: str) -> None:
    found = router("{*all}", "a/{*rest:minlength(6)}", "a/{id}", "a/{id:int}", "a/list").find("GET", path)
    assert isinstance(found, Match)
    assert found.function == winner


def test_a_route_of_another_method_lets_a_less_specific_one_answer() -> None:
    found = Router(
        [
            Route("literal", parse_template("a/list"), frozenset({"POST"})),
            Route("parameter", parse_template("a/{id}"), frozenset({"GET"})),
        ]
    )
    assert found.find("GET", "/a/list") == Match("parameter", {"id": "list"})
    assert found.find("POST", "/a/list") == Match("literal", {})
    assert found.find("PUT", "/a/list") is None
    assert found.find("GET", "/b") is None


def overlaps(*routes: tuple[str, str, str]) -> list[str]:
    problems = Problems()
    warn_of_overlaps(
        [Route(name, parse_template(template), frozenset({method})) for name, template, method in routes],
        problems,
    )
    return problems.warnings


def test_a_route_that_azure_would_hide_behind_another_is_warned_of() -> None:
    # Azure tries routes in the order of function names: `details` would get every request for `list`.
    warnings = overlaps(("details", "products/{id}", "GET"), ("list", "products/list", "GET"))
    assert len(warnings) == 1
    assert "function list" in warnings[0]
    assert "'products/{id}'" in warnings[0]


@pytest.mark.parametrize(
    "routes",
    [
        (("a_list", "products/list", "GET"), ("details", "products/{id}", "GET")),
        (("details", "products/{id:int}", "GET"), ("list", "products/list", "GET")),
        (("details", "products/{id}", "POST"), ("list", "products/list", "GET")),
        (("details", "products/{id}/x", "GET"), ("list", "products/list", "GET")),
        (("a", "{id:int}", "GET"), ("b", "{name:minlength(12)}", "GET")),
    ],
)
def test_routes_that_azure_tells_apart_are_not_warned_of(routes: tuple[tuple[str, str, str], ...]) -> None:
    assert overlaps(*routes) == []


@pytest.mark.parametrize(("earlier", "later"), [("{*all}", "x/y"), ("x/{id?}", "x"), ("same", "same")])
def test_overlaps_of_other_shapes_are_found(earlier: str, later: str) -> None:
    assert len(overlaps(("a", earlier, "GET"), ("b", later, "GET"))) == 1
