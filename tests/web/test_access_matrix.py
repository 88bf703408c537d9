"""Permissions with AUTH_MODE `entra`: every route by every role, for an open and for a closed list."""

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlencode, urlsplit

import pytest

from shared.core.ids import person_id
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import AppCloud
from tests.support.host import Host
from tests.web.app_routes import http_routes
from tests.web.crawler import Crawl, known_of, seeds_of
from tests.web.markup import check
from tests.web.site import Site, empty_site
from tests.web.test_routes import find
from web.access import ROLES

pytestmark = pytest.mark.timeout(300)
MARK, ADDRESS = "Zanzibar", "quentin@board.example"
# Each route, by the callers that may use it. A new route must be in one of these, or this test fails.
OPEN = {
    "static", "health", "health_live", "openapi", "robots", "zz_missing", "page_sign_in", "page_sign_in_send",
    "page_sign_out", "feeds_private",
}  # fmt: skip
READ = {
    "page_home", "page_sources", "page_drafts", "page_archives", "page_following", "page_account",
    "page_account_send", "page_report_error_send", "page_search", "ask", "page_ask", "page_draft", "sources_list", "archives_list", "threads_list",
    "reports_list", "drafts_list", "drafts_get", "search", "chunks_list", "feeds_draft", "feeds_outcome",
    "page_subscribe", "page_subscribe_send", "page_confirm", "page_confirm_send", "page_unsubscribe",
    "page_unsubscribe_send", "operations_get", "page_person", "feeds_person",
}  # fmt: skip
OF_SOURCE = {
    "page_source", "page_timeline", "page_thread", "page_thread_mbox", "page_mail", "page_thread_of_mail",
    "page_report", "page_report_print", "page_archive", "sources_get", "archives_get", "threads_get",
    "threads_messages", "corrections_list", "placements_list", "reports_get", "reports_markdown", "messages_get",
    "chunks_get", "feeds_thread", "page_report_error",
}  # fmt: skip
# Closed, empty and unknown lists get the same answer, because a feed can be followed before there is mail.
EMPTY_WHERE_CLOSED = {"feeds_source", "feeds_calls", "feeds_calendar"}
BY_ROLE = {
    "uploader": {"archives_upload"},
    "corrector": {"corrections_create", "corrections_revoke", "operator_corrections", "operator_correct", "operator_errors"},
    "inspector": {"operator", "operator_letters", "operator_leave"},
    "requeuer": {"operator", "operator_letters", "operator_leave", "operator_letters_act"},
    "operator": {
        "sources_create", "sources_update", "sources_delete", "sources_trigger", "archives_delete",
        "digests_refresh", "resummaries_create", "resummaries_get", "messages_raw", "placements_create",
        "placements_undo", "operator_upload", "operator_uploaded", "operator_upload_begin", "operator_upload_part",
        "operator_upload_end", "operator_source", "operator_source_send", "operator_archive", "operator_enter",
        "operator_audit",
    },
}  # fmt: skip
REFUSED = {302, 401, 403}


def board_mail(number: int, body: str, parent: int | None = None) -> str:
    lines = [
        f"From quentin@board.example Mon Jan {number + 1:2} 00:00:00 2024",
        f"From: Quentin {MARK} <{ADDRESS}>",
        f"Date: {number + 1} Jan 2024 10:00:00 +0000",
        f"Subject: {'Re: ' if parent is not None else ''}Adopt the {MARK} plan, RFC 8446",
        f"Message-ID: <{MARK}-{number}@board.example>",
        *([f"In-Reply-To: <{MARK}-{parent}@board.example>"] if parent is not None else []),
        "",
        body,
        "",
    ]
    return "\n".join(lines) + "\n"


BOARD = (
    board_mail(0, f"I propose that we adopt the {MARK} plan. Please say by 2 March 2031 whether you agree.")
    + board_mail(1, f"I support the {MARK} plan.", 0)
    + board_mail(2, f"I object to {MARK}.", 0)
)


def sign_in(host: Host, *roles: str, groups: str = "", name: str = "somebody") -> dict[str, str]:
    """Return the headers of a browser after the sign-in of a development host."""
    form = {"name": name, "groups": groups, "to": "/", **{f"role-{role}": "1" for role in roles}}
    answer = host.ask("POST", "/sign-in", urlencode(form), 20, Origin=host.url)
    assert answer.status == 303, answer.text
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.fixture(scope="module")
def closed(cloud: AppCloud) -> Iterator[Site]:
    """Two lists: all readers read `open`, and a group reads `board`, whose mail answers `open`."""
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with empty_site(
        cloud, AUTH_MODE="entra", PEOPLE_PAGES="true", RATE_LIMITS="signin=0,search=0,raw=0,ask=0"
    ) as site:
        site.headers = sign_in(site.host, "operator", name="operator")
        for name, readers in (("open", ["*"]), ("board", ["board"])):
            source = {"name": name, "source_type": "upload", "readers": readers}
            made = site.host.ask("POST", "/api/sources", json.dumps(source), 20, **site.headers)
            assert made.status == 201, made.text
        opening = BOARD.replace(MARK, "Lisbon").replace("quentin@board", "ada@open").replace("Quentin", "Ada")
        answer = board_mail(5, f"Here is what {MARK} says to that.").replace(
            "\n\n", "\nIn-Reply-To: <Lisbon-0@board.example>\n\n", 1
        )
        site.upload("open", opening.encode())
        site.upload("board", (BOARD + answer).encode())
        for archive in list(site.archives.values()):
            site.wait_until_reported(archive)
        site.make_digests()
        yield site


@pytest.fixture(scope="module")
def callers(closed: Site) -> dict[str, dict[str, str]]:
    return {
        "nobody": {},
        **{role: sign_in(closed.host, role, name=f"the {role}") for role in ROLES},
        "member": sign_in(closed.host, "reader", groups="other, board", name="the member"),
        "no role": sign_in(closed.host, groups="board"),
    }


def known(site: Site, source: str) -> dict[str, str]:
    word = MARK if source == "board" else "Lisbon"
    address = ADDRESS if source == "board" else "ada@open.example"
    return known_of(site.host, source, word, site.headers) | {
        "draft": "RFC8446",
        "person": person_id(address),
    }


def path_by_route(site: Site, source: str) -> dict[str, str]:
    """Return the first address of each route that reads."""
    found: dict[str, str] = {}
    for path in seeds_of(source, known(site, source)):
        route = find(unquote(urlsplit(path).path), by_name=True)
        assert route, path
        found.setdefault(route, path)
    return found


def test_every_route_says_who_may_call_it() -> None:
    routes = {route.function for route in http_routes()}
    said = OPEN | READ | OF_SOURCE | EMPTY_WHERE_CLOSED | set.union(*BY_ROLE.values())
    assert routes == said


def may(role: str, route: str) -> bool:
    return route in BY_ROLE.get(role, set()) or role == "operator"


def reads_as_it_may(route: str, role: str, source: str, status: int) -> bool:
    granted = role not in {"nobody", "no role"}
    sees = granted and (source == "open" or role in {"member", "operator"})
    if route in OPEN:
        return status not in REFUSED or route == "static"
    if not granted:
        return status in ({302, 401} if role == "nobody" else {403})
    if route in set.union(*BY_ROLE.values()):
        return (status == 403) is not may(role, route)
    if route in OF_SOURCE:
        return (status in {200, 302}) is sees and (sees or status == 404)
    return status in {200, 404, 422}


def test_each_role_reads_what_it_may_of_an_open_and_of_a_closed_list(
    closed: Site, callers: dict[str, dict[str, str]]
) -> None:
    wrong, asked = [], 0
    for source in ("open", "board"):
        paths = path_by_route(closed, source)
        read = {route.function for route in http_routes() if "GET" in route.methods}
        assert read == set(paths)
        for role, headers in callers.items():
            for route, path in paths.items():
                if source == "open" and route not in OF_SOURCE:
                    continue
                if route not in set.union(*BY_ROLE.values()) and role in {
                    "uploader",
                    "corrector",
                    "inspector",
                    "requeuer",
                }:
                    continue  # these roles read like a reader, and the crawler covers each of them
                answer, asked = closed.host.get(path, **headers), asked + 1
                status = answer.status
                if not reads_as_it_may(route, role, source, status) or status >= 500:
                    wrong.append((source, role, route, status))
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert asked > 400


def test_each_role_writes_what_it_may(closed: Site, callers: dict[str, dict[str, str]]) -> None:
    """The request has no body, so a permitted caller gets an error about it."""
    special, wrong, asked = set.union(*BY_ROLE.values()), [], 0
    ends_sessions = {"page_sign_out"}
    for route in http_routes():
        for method in route.methods - {"GET", "HEAD"} if route.function not in ends_sessions else ():
            path = "/" + re.sub(r"\{[^}]*\}", "0", route.route.replace("{action}", "purge"))
            for role, headers in callers.items():
                given = {**headers, "Origin": closed.url, "content-type": "application/json"}
                status, asked = closed.host.ask(method, path, b"", 20, **given).status, asked + 1
                if route.function in OPEN:
                    fits = status not in REFUSED
                elif role == "nobody":
                    fits = status == 401
                elif role == "no role":
                    fits = status == 403
                elif route.function in special and route.function != "operator_enter":
                    # A form of the operator's page lacks its token, so all callers get 403.
                    fits = (
                        status == 403
                        if not may(role, route.function)
                        else status in {400, 403, 404, 409, 422}
                    )
                else:
                    fits = status not in {401, 500}
                if not fits or status >= 500:
                    wrong.append((role, route.function, method, status))
    assert not wrong, "\n".join(map(str, wrong[:40]))
    assert asked > 100


@pytest.mark.parametrize(
    ("role", "least"),
    [
        ("nobody", 100),
        ("reader", 115),
        *(
            pytest.param(role, least, marks=pytest.mark.slow)
            for role, least in (("no role", 90), ("uploader", 90), ("corrector", 90), ("inspector", 90))
        ),
    ],
)
def test_a_crawler_finds_nothing_of_a_closed_list(
    closed: Site, callers: dict[str, dict[str, str]], role: str, least: int
) -> None:
    seeds = [path for source in ("board", "open") for path in seeds_of(source, known(closed, source))]
    secret = re.compile(rf"{MARK}|quentin", re.IGNORECASE)
    crawl = Crawl(closed.host, callers[role], a_route=3 if role == "reader" else 1).follow(seeds)
    for path, text in crawl.texts():
        # Words of the caller's own address are not a leak.
        for word in {path, unquote(path), *(unquote(path).split("/"))}:
            text = text.replace(word, "") if len(word) > 8 else text  # noqa: PLW2901 - word by word
        found = [match[0] for match in secret.finditer(text) if MARK not in path]
        assert found == [], (role, path, found)
    assert len(crawl.answers) > least


def test_the_crawler_finds_what_a_member_may_read(closed: Site, callers: dict[str, dict[str, str]]) -> None:
    crawl = Crawl(closed.host, callers["member"], a_route=1).follow(seeds_of("board", known(closed, "board")))
    assert sum(MARK in text for _, text in crawl.texts()) > 25


def test_a_closed_list_answers_as_one_that_does_not_exist(
    closed: Site, callers: dict[str, dict[str, str]]
) -> None:
    there = known(closed, "board")
    nowhere = {
        name: re.sub(r"[0-9]", lambda digit: str((int(digit[0]) + 1) % 10), value)
        for name, value in there.items()
        if name in {"thread", "report", "archive", "message", "chunk", "operation"}
    }
    unknown = there | nowhere | {"message_id": "<no-such-0@board.example>"}
    pairs = zip(seeds_of("board", there), seeds_of("boarx", unknown), strict=True)
    compared = 0
    for closed_path, unknown_path in pairs:
        if closed_path == unknown_path or "search" in closed_path:
            continue
        answers = [closed.host.get(path, **callers["reader"]) for path in (closed_path, unknown_path)]
        texts = []
        for answer, values, name in zip(answers, (there, unknown), ("board", "boarx"), strict=True):
            text = answer.text
            for value in (name, values["thread"], values["message_id"].strip("<>")):
                text = text.replace(value, "X")
            texts.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|DTSTAMP:\w+|urn:uuid:[\w-]+", "", text))
        assert answers[0].status == answers[1].status, closed_path
        assert texts[0] == texts[1], closed_path
        compared += 1
    assert compared > 30


def test_no_function_key_opens_a_private_site(closed: Site) -> None:
    for headers in ({}, {"x-functions-key": "anything"}):
        answer = closed.host.ask("POST", "/api/sources", b"{}", 20, **headers)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_secret_address_of_feeds_reads_what_its_account_may_until_it_is_revoked(
    closed: Site, callers: dict[str, dict[str, str]]
) -> None:
    def address(role: str) -> str:
        made = closed.host.ask("POST", "/account", b"make=1", 20, **callers[role], Origin=closed.url)
        assert made.status == 200, made.text
        found = re.search(r"/feeds/private/[A-Za-z0-9._-]+/", made.text)
        assert found, made.text
        return found[0]

    of_member, of_reader = address("member"), address("reader")
    for kind in ("sources/board", "sources/board/calls", "sources/board/calendar"):
        assert MARK in closed.host.get(of_member + kind).text, kind
        answer = closed.host.get(of_reader + kind)
        assert answer.status == 200
        assert MARK not in answer.text
    assert ADDRESS not in closed.host.get(of_member + "sources/board").text
    again = address("member")
    assert closed.host.get(of_member + "sources/board").status == 404
    assert closed.host.get(again + "sources/board").status == 200
    sent = closed.host.ask("POST", "/account", b"revoke=1", 20, **callers["member"], Origin=closed.url)
    assert sent.status == 200
    assert closed.host.get(again + "sources/board").status == 404
    assert closed.host.get(of_reader + "sources/open").status == 200


def test_who_signs_out_has_no_session_left(closed: Site) -> None:
    headers = sign_in(closed.host, "reader", name="a guest")
    assert closed.host.get("/sources", **headers).status == 200
    left = closed.host.ask("POST", "/sign-out", b"", 20, **headers, Origin=closed.url)
    assert left.status == 303
    assert closed.host.get("/sources", **headers).status == 302
    assert closed.host.get("/api/sources", **headers).status == 401


def test_an_assistant_reads_what_its_caller_may(closed: Site, callers: dict[str, dict[str, str]]) -> None:
    """The tools get the client's headers from the host, so a closed list does not exist for other callers."""
    board = closed.host.get("/api/threads?source=board", **closed.headers).json()["items"][0]["thread_id"]
    uses = (
        ("search", {"query": f"{MARK} plan"}),
        ("ask", {"question": f"Adopt the {MARK} plan?"}),
        ("get_thread", {"thread_id": board}),
        ("get_outcome", {"thread_id": board}),
        ("get_message", {"message_id": f"{MARK}-0@board.example"}),
        ("verify_quote", {"quote": f"I object to {MARK}.", "message_id": f"{MARK}-2@board.example"}),
    )
    for role, headers in callers.items():
        for name, arguments in uses:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            body = json.dumps({**message, "params": {"name": name, "arguments": arguments}})
            answer = closed.host.ask("POST", "/runtime/webhooks/mcp", body, 20, **headers).json()
            text = answer["result"]["content"][0]["text"]
            said = {**json.loads(text), "question": "", "message_id": ""}
            sees = role in {"member", "operator"}
            assert (f"{MARK} plan" in json.dumps(said) or said.get("confirmed") is True) is sees, (
                role,
                name,
                text,
            )
            if role != "operator":
                assert ADDRESS not in text, (role, name)
            if role in {"nobody", "no role"}:
                assert set(json.loads(text)) == {"error"}, (role, name)


def test_the_audit_page_names_the_person_and_whom_a_source_lets_read(
    closed: Site, callers: dict[str, dict[str, str]]
) -> None:
    source = {"name": "short-lived", "source_type": "upload", "readers": ["board"]}
    ada = sign_in(closed.host, "operator", name="Ada Operator")
    assert closed.host.ask("POST", "/api/sources", json.dumps(source), 20, **ada).status == 201
    changed = '{"readers": ["others"], "keep_days": 365}'
    assert closed.host.ask("PATCH", "/api/sources/short-lived", changed, 20, **ada).status == 200
    assert closed.host.ask("DELETE", "/api/sources/short-lived", None, 20, **ada).status == 200
    page = check(closed.host.get("/operator/audit?actor=Ada+Operator", **ada).text)
    rows = [" ".join(row.text.split()) for row in page.all("tr")[1:]]
    assert len(rows) == 3
    assert all(part in row for row in rows for part in ("Ada Operator", "api", "succeeded"))
    assert "update sourcesource: short-lived; readers: others; keep_days: 365" in rows[1]
    everyone = check(closed.host.get("/operator/audit", **ada).text)
    people = {link.text for link in everyone.all("a") if "actor=" in link.attributes["href"]}
    assert people == {"operator", "Ada Operator"}
    for role in set(callers) - {"operator"}:
        assert closed.host.get("/operator/audit", **callers[role]).status in REFUSED
