"""Full-text search, filters, order, facets, highlights and pages over HTTP."""

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from tests.search.conftest import KEY, Search

FIELDS: list[dict[str, Any]] = [
    KEY,
    {"name": "title", "type": "Edm.String", "analyzer": "standard.lucene"},
    {"name": "body", "type": "Edm.String", "analyzer": "en.lucene", "filterable": False},
    {"name": "tags", "type": "Collection(Edm.String)"},
    {"name": "rating", "type": "Edm.Int32"},
    {"name": "price", "type": "Edm.Double"},
    {"name": "open", "type": "Edm.Boolean"},
    {"name": "since", "type": "Edm.DateTimeOffset"},
    {"name": "city", "type": "Edm.String"},
    {"name": "rates", "type": "Collection(Edm.Double)"},
    {"name": "secret", "type": "Edm.String", "filterable": False, "sortable": False, "facetable": False}
    | {"searchable": False, "retrievable": False},
]
HOTELS: list[dict[str, Any]] = [
    {
        "id": "1",
        "title": "Grand Hotel",
        "body": "The quick brown foxes are running. A second sentence about dogs!",
        "tags": ["wifi", "pool"],
        "rating": 5,
        "price": 120.5,
        "open": True,
        "since": "2001-03-05T00:00:00Z",
        "city": "Rome",
        "rates": [300.0, 80.0],
    },
    {
        "id": "2",
        "title": "Little Inn",
        "body": "A brown dog sleeps; the fox is quick.",
        "tags": ["wifi"],
        "rating": 3,
        "price": 45.0,
        "open": False,
        "since": "2001-04-09T12:00:00Z",
        "city": "Paris",
        "rates": [30.0],
    },
    {
        "id": "3",
        "title": "Grand Inn and Hotel",
        "body": "Nothing but quick notes.",
        "tags": [],
        "rating": 4,
        "price": 45.0,
        "open": True,
        "since": "2010-12-31T23:59:59Z",
        "city": "Rome",
        "rates": [],
    },
    {"id": "4", "title": "read-only memory", "tags": ["grand"]},
]


@pytest.fixture(scope="module")
def hotels(shared_service: Any) -> str:
    return Search(shared_service).create(FIELDS, HOTELS)


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        ("*", "any", "1234"),
        ("", "any", "1234"),
        (None, "any", "1234"),
        ("grand", "any", "134"),
        ("GRAND hotel", "any", "134"),
        ("grand hotel", "all", "13"),
        ("grand+hotel", "any", "13"),
        ("little | memory", "all", "24"),
        ('"grand hotel"', "any", "1"),
        ('"hotel grand"', "any", ""),
        ("gra*", "any", "134"),
        ("gr* +hot*", "any", "13"),
        ("grand -hotel", "all", "4"),
        ("grand -hotel", "any", "1234"),
        ("-grand", "any", "2"),
        ("(little | memory) grand", "all", "4"),
        ("(little | grand) inn", "all", "23"),
        ("inn + (little | grand)", "any", "23"),
        ("run", "any", "1"),
        ("foxes", "any", "12"),
        ("the", "any", ""),
        ("the fox", "all", ""),  # a field with stop words must match both, as in Azure
        ('"foxes are running"', "any", "1"),
        ('"brown fox"', "any", "1"),
        ('"quick fox"', "any", ""),
        ("read-only", "all", "4"),
        ("read-missing", "all", ""),
        ("read-missing", "any", "4"),
        ("hotel\\-inn", "any", "123"),
        ("nowhere", "any", ""),
        ("((((", "any", ""),
        ('"unclosed grand', "any", "134"),
        ("+ | - * ", "any", "1234"),
        ("rome", "any", "13"),
        ("pool", "any", "1"),
    ],
)
def test_the_simple_query_syntax(
    search: Search, hotels: str, text: str | None, mode: str, expected: str
) -> None:
    assert "".join(sorted(search.found(hotels, search=text, searchMode=mode))) == expected


def test_search_fields_bound_where_terms_are_looked_for(search: Search, hotels: str) -> None:
    assert sorted(search.found(hotels, search="grand", searchFields="title")) == ["1", "3"]
    assert search.found(hotels, search="grand", searchFields="tags") == ["4"]
    assert sorted(search.found(hotels, search="paris hotel", searchFields="city,title")) == ["1", "2", "3"]
    assert sorted(search.found(hotels, search="the fox", searchFields="body", searchMode="all")) == ["1", "2"]
    assert search.search(hotels, search="x", searchFields="rating").status == 400
    assert search.search(hotels, search="x", searchFields="nope").status == 400


def test_a_phrase_does_not_span_two_values_of_a_collection(search: Search, hotels: str) -> None:
    assert search.found(hotels, search='"wifi pool"') == []
    assert search.found(hotels, search='"grand hotel"') == ["1"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("rating eq 5", "1"),
        ("rating ne 5", "234"),
        ("not (rating eq 5)", "234"),
        ("rating gt 3", "13"),
        ("rating ge 3 and rating lt 5", "23"),
        ("3 lt rating", "13"),
        ("rating eq null", "4"),
        ("rating ne null", "123"),
        ("null eq rating", "4"),
        ("rating gt 3.5", "13"),
        ("price eq 45", "23"),
        ("price lt 1e2", "23"),
        ("price gt -INF", "123"),
        ("open", "13"),
        ("not open", "24"),
        ("open eq false", "2"),
        ("true", "1234"),
        ("rating eq 5 or open eq false and price lt 1", "1"),
        ("(rating eq 5 or open eq false) and price lt 50", "2"),
        ("title eq 'Grand Hotel'", "1"),
        ("title eq 'grand hotel'", ""),
        ("title gt 'Little'", "24"),
        ("title le 'Grand Hotel'", "1"),
        ("since ge 2001-04-01T00:00:00Z", "23"),
        ("since eq 2001-04-09T14:00:00+02:00", "2"),
        ("since lt 2001-04-09T12:00:00.001Z", "12"),
        ("tags/any()", "124"),
        ("not tags/any()", "3"),
        ("tags/any(t: t eq 'wifi')", "12"),
        ("tags/any(t: t eq 'pool' or t eq 'grand')", "14"),
        ("tags/all(t: t ne 'pool')", "234"),
        ("tags/any(tag: search.in(tag, 'pool, grand'))", "14"),
        ("tags/all(t: not search.in(t, 'pool|wifi', '|'))", "34"),
        ("city eq 'Rome'", "13"),
        ("city ne 'Rome'", "24"),
        ("rates/any(r: r lt 50)", "2"),
        ("rates/any(r: r gt 50 and r lt 100)", "1"),
        ("rates/all(r: r lt 100)", "234"),
        ("search.in(id, '1 3')", "13"),
        ("search.in(title, 'Grand Hotel|Little Inn', '|')", "12"),
        ("not search.in(id, '1,2')", "34"),
        ("search.ismatch('grand -hotel', 'title,tags', 'simple', 'all')", "4"),
        ("search.ismatch('foxes') and rating gt 3", "1"),
        ("search.ismatch('\"grand hotel\"', 'title')", "1"),
        ("not search.ismatch('foxes') and search.ismatch('hotel', 'title')", "3"),
        ("  rating  eq  5  ", "1"),
        ("title eq 'It''s'", ""),
    ],
)
def test_filters(search: Search, hotels: str, where: str, expected: str) -> None:
    assert "".join(sorted(search.found(hotels, filter=where))) == expected


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("nope eq 1", "Could not find a property named 'nope' on type 'search.document'"),
        ("city/nope eq 1", "property named 'nope'"),
        ("rating eq 'x'", "incompatible types"),
        ("title eq 1", "incompatible types"),
        ("open gt true", "incompatible types"),
        ("since gt '2001'", "incompatible types"),
        ("since gt 2001-13-01T00:00:00Z", "not a date"),
        ("rating", "Boolean expression expected"),
        ("rating eq", "Syntax error"),
        ("rating eq 5 and", "Syntax error"),
        ("rating eq 5 AND open", "Syntax error"),
        ("rating = 5", "Syntax error"),
        ("rating add 1 eq 2", "Boolean expression expected"),
        ("(rating eq 5", "')' expected"),
        ("rating eq 5)", "Syntax error"),
        ("rating eq rating", "between a field and a constant"),
        ("title eq 'open", "Syntax error"),
        ("rating in (1, 2)", "Boolean expression expected"),
        ("contains(title, 'x')", "contains"),
        ("startswith(title, 'x')", "startswith"),
        ("geo.distance(title, geography'POINT(1 2)') lt 1", "geo.distance"),
        ("tags eq 'wifi'", "any or all"),
        ("rates eq null", "any or all"),
        ("title/any(t: t eq 'x')", "not one"),
        ("tags/any(t: t ne 'wifi')", "Invalid lambda"),
        ("tags/any(t: t eq 'a' and t eq 'b')", "Invalid lambda"),
        ("tags/all(t: t eq 'wifi')", "Invalid lambda"),
        ("tags/any(t: t gt 'a')", "Invalid lambda"),
        ("rates/any(r: rating eq 5)", "not bound"),
        ("rates/any(r: tags/any(t: t eq 'x'))", "not bound"),
        ("rates/any(r: r/any(s: s eq 5))", "not one"),
        ("body eq 'x'", "not filterable"),
        ("secret eq 'x'", "not filterable"),
        ("search.in(rating, '1')", "string field"),
        ("tags/any(t: search.ismatch('x'))", "lambda"),
        ("search.ismatch('x', 'rating')", "not searchable"),
        ("search.ismatch('x', 'title', 'full', 'any')", "queryType"),
        ("search.ismatch('x', 'title', 'simple')", "number of arguments"),
        ("search.ismatchscoring('x')", "ismatchscoring"),
    ],
)
def test_a_filter_that_azure_would_refuse_is_refused(
    search: Search, hotels: str, where: str, says: str
) -> None:
    answer = search.search(hotels, filter=where)
    assert answer.status == 400, answer.raw
    assert says in answer.message


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("rating", "4231"),
        ("rating desc", "1324"),
        ("price asc, rating desc", "4321"),
        ("price desc,id desc", "1324"),
        ("title", "1324"),
        ("open desc,id", "1324"),
        ("since desc", "3214"),
        ("city desc,id desc", "3124"),
    ],
)
def test_order_puts_nulls_first_ascending_and_last_descending(
    search: Search, hotels: str, order: str, expected: str
) -> None:
    assert "".join(search.found(hotels, search="*", orderby=order)) == expected


def test_order_by_score(search: Search, hotels: str) -> None:
    best_first = search.found(hotels, search="grand hotel")
    assert search.found(hotels, search="grand hotel", orderby="search.score() desc") == best_first
    assert search.found(hotels, search="grand hotel", orderby="search.score() asc") == best_first[::-1]
    for wrong in ("rating upward", "tags", "nope", "geo.distance(x, y)", "rates"):
        assert search.search(hotels, orderby=wrong).status == 400
    assert search.search(hotels, orderby=",".join(["rating"] * 33)).status == 400


def test_select_returns_only_the_requested_fields(search: Search, hotels: str) -> None:
    hits = search.documents(hotels).search("grand hotel", select=["id", "city"], top=1, search_mode="all")
    (hit,) = (dict(item) for item in hits)
    shown = {name: value for name, value in hit.items() if not name.startswith("@search.")}
    assert shown == {"id": "1", "city": "Rome"}
    assert "secret" not in search.search(hotels).body["value"][0]
    assert search.search(hotels, select="secret").status == 400
    assert search.search(hotels, select="nope").status == 400


def facets(search: Search, index: str, *wanted: str, **rest: Any) -> Any:
    answer = search.search(index, facets=list(wanted), **rest)
    assert answer.status == 200, answer.raw
    return answer.body["@search.facets"]


def test_facets_count_the_matching_documents_by_value(search: Search, hotels: str) -> None:
    assert facets(search, hotels, "tags", "rating") == {
        "tags": [
            {"count": 2, "value": "wifi"},
            {"count": 1, "value": "grand"},
            {"count": 1, "value": "pool"},
        ],
        "rating": [{"count": 1, "value": 3}, {"count": 1, "value": 4}, {"count": 1, "value": 5}],
    }
    assert facets(search, hotels, "tags,count:1", filter="rating gt 3")["tags"] == [
        {"count": 1, "value": "pool"}
    ]
    assert facets(search, hotels, "city", "open") == {
        "city": [{"count": 2, "value": "Rome"}, {"count": 1, "value": "Paris"}],
        "open": [{"count": 2, "value": True}, {"count": 1, "value": False}],
    }


def test_facets_count_dates_by_interval(search: Search, hotels: str) -> None:
    shown = facets(search, hotels, "since,interval:month")
    assert [item["value"] for item in shown["since"]] == [
        "2001-03-01T00:00:00Z",
        "2001-04-01T00:00:00Z",
        "2010-12-01T00:00:00Z",
    ]
    by = {
        unit: [item["value"][:10] for item in facets(search, hotels, f"since,interval:{unit}")["since"]]
        for unit in ("day", "week", "quarter", "year")
    }
    assert by == {
        "day": ["2001-03-05", "2001-04-09", "2010-12-31"],
        "week": ["2001-03-05", "2001-04-09", "2010-12-27"],
        "quarter": ["2001-01-01", "2001-04-01", "2010-10-01"],
        "year": ["2001-01-01", "2010-01-01"],
    }


@pytest.mark.parametrize(
    "wrong",
    [
        *("nope", "body,count:x", "secret", "tags,interval:day", "rating,interval:2", "rating,values:1|3"),
        *("since,interval:fortnight", "tags,sort:value", "tags,surprise:1", "rating,count:1,count:2"),
    ],
)
def test_a_facet_that_makes_no_sense_is_refused(search: Search, hotels: str, wrong: str) -> None:
    assert search.search(hotels, facets=[wrong]).status == 400


def test_highlights_mark_the_words_that_matched(search: Search, hotels: str) -> None:
    def shown(text: str, fields: str, **tags: str) -> Any:
        hits = search.search(hotels, search=text, highlight=fields, filter="id eq '1'", **tags).body["value"]
        return hits[0].get("@search.highlights")

    assert shown("fox dog", "body") == {
        "body": ["The quick brown <em>foxes</em> are running.", "A second sentence about <em>dogs</em>!"]
    }
    assert shown("fox dog", "body-1") == {"body": ["The quick brown <em>foxes</em> are running."]}
    assert shown("hot*", "title", highlightPreTag="[", highlightPostTag="]") == {"title": ["Grand [Hotel]"]}
    assert shown('"brown fox" running', "body") == {
        "body": ["The quick <em>brown</em> <em>foxes</em> are <em>running</em>."]
    }
    assert shown("wifi", "tags,title") == {"tags": ["<em>wifi</em>"]}
    assert shown("grand", "body") is None
    assert shown("*", "title") is None
    assert search.search(hotels, search="x", highlight="rating").status == 400
    assert search.search(hotels, search="x", highlight="title", highlightPreTag="<b>").status == 400


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (
            "Use Python 3.11 from python.org today. Or not.",
            ["Use <em>Python</em> 3.11 from python.org today."],
        ),
        ("Write to a@python.org... python? Yes!", ["<em>python</em>?"]),
        ("...python", ["...<em>python</em>"]),
        ("One. Python.\nTwo python", ["<em>Python</em>.", "Two <em>python</em>"]),
    ],
)
def test_a_sentence_does_not_end_inside_a_word(search: Search, text: str, fragments: list[str]) -> None:
    name = search.create([KEY, {"name": "text", "type": "Edm.String"}], [{"id": "1", "text": text}])
    hit = search.search(name, search="python", highlight="text").body["value"][0]
    assert hit["@search.highlights"]["text"] == fragments


def test_pages_follow_one_another_until_the_end(search: Search) -> None:
    fields: list[dict[str, Any]] = [KEY, {"name": "n", "type": "Edm.Int32"}]
    index = search.create(fields, [{"id": f"{number:05d}", "n": number} for number in range(1230)])
    client = search.documents(index)
    first = search.search(index, search="*").body
    assert len(first["value"]) == 50
    assert first["@search.nextPageParameters"] == {"search": "*", "skip": 50}
    assert first["@odata.nextLink"].startswith(
        f"{search.endpoint}/indexes('{index}')/docs/search.post.search?"
    )
    assert "@search.nextPageParameters" not in search.search(index, search="*", top=50).body
    everything = client.search("*", order_by=["n desc"], select=["n"], include_total_count=True)
    assert [item["n"] for item in everything] == list(range(1229, -1, -1))
    assert everything.get_count() == 1230
    assert len(list(client.search("*", top=1100))) == 1100
    assert [item["n"] for item in client.search("*", top=3, skip=1228, order_by=["n"])] == [1228, 1229]
    assert list(client.search("*", skip=5000)) == []
    assert list(client.search("*", top=0)) == []
    sizes = [len(list(page)) for page in client.search("*", top=1100).by_page()]
    assert sizes == [1000, 100]


@pytest.mark.parametrize(
    "wrong",
    [
        {"top": -1},
        {"skip": 100_001},
        {"top": "5"},
        {"search": 5},
        {"queryType": "full"},
        {"queryType": "semantic"},
        {"semanticConfiguration": "x"},
        {"scoringProfile": "x"},
        {"searchMode": "some"},
        {"count": "yes"},
        {"surprise": 1},
        {"vectorFilterMode": "later"},
        {"minimumCoverage": 80},
        {"debug": "all"},
        {"search": "(" * 60 + "x" + ")" * 60},
        {"search": "x " * 1100},
        {"filter": "(" * 200 + "true" + ")" * 200},
        {"filter": "not " * 200 + "true"},
        {"filter": " or ".join(["true"] * 3100)},
    ],
)
def test_a_search_that_is_not_supported_or_too_large_is_a_clear_400(
    search: Search, hotels: str, wrong: dict[str, Any]
) -> None:
    answer = search.search(hotels, **wrong)
    assert answer.status == 400
    assert answer.message


def test_the_sdk_raises_with_the_service_s_message(search: Search, hotels: str) -> None:
    with pytest.raises(HttpResponseError, match="property named 'nope' on type"):
        list(search.documents(hotels).search("*", filter="nope eq 1"))
