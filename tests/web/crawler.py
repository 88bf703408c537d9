"""Follow every link of a site as one caller, a few times for each route, and keep the answers."""

import gzip
import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tests.support.host import Answer, Host
from tests.web.test_routes import find

A_ROUTE = 4  # the pages requested for each route
_LINK = re.compile(r"""(?:href|action|src)=["']([^"']+)["']""")
REDIRECTS = {301, 302, 303}


@dataclass
class Crawl:
    host: Host
    headers: Mapping[str, str]
    a_route: int = A_ROUTE
    answers: dict[str, Answer] = field(default_factory=dict)
    routes: Counter[str] = field(default_factory=Counter)
    statuses: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def follow(self, seeds: Iterable[str]) -> "Crawl":
        waiting = list(dict.fromkeys(seeds))
        certain = set(waiting)  # seeds are always requested
        while waiting:
            path = waiting.pop(0)
            route = find(unquote(urlsplit(path).path), by_name=True) or "none"
            if path in self.answers or (path not in certain and self.routes[route] >= self.a_route):
                continue
            self.routes[route] += 1
            answer = self.host.get(path, **self.headers)
            self.answers[path] = answer
            self.statuses[route].add(answer.status)
            waiting += [link for link in links_of(answer, self.host.url) if link not in self.answers]
        return self

    def texts(self) -> Iterator[tuple[str, str]]:
        """Return every answer as text with its headers, unpacked and unescaped."""
        for path, answer in self.answers.items():
            body = answer.body
            if answer.headers["content-type"] == "application/gzip":
                body = gzip.decompress(body)
            plain = html.unescape(unquote(body.decode("utf-8", "replace")))
            yield path, f"{plain}\n{answer.headers}"


def links_of(answer: Answer, origin: str) -> list[str]:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if answer.status in REDIRECTS:
        found = [answer.headers["location"]]
    elif kind == "application/json":
        found = list(_addresses(json.loads(answer.body)))
    elif kind in {"text/html", "application/atom+xml"}:
        found = [html.unescape(link) for link in _LINK.findall(answer.text)]
    else:
        found = []
    local = [link.removeprefix(origin).partition("#")[0] for link in found]
    return [link for link in local if link.startswith("/") and not link.startswith(("//", "/static/"))]


def _addresses(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("/"):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _addresses(item)
    elif isinstance(value, list):
        for item in value:
            yield from _addresses(item)


def seeds_of(source: str, known: Mapping[str, str]) -> list[str]:
    """Return an address of every route that reads, for this list and its documents (`known`)."""
    name, draft = quote(source), known["draft"]
    mail = quote(known["message_id"].strip("<>"), safe="@")
    thread, report, person = known["thread"], known["report"], known["person"]
    return [
        "/", "/sources", "/drafts", "/archives", "/following", "/account", "/nowhere", "/robots.txt", "/sign-in",
        "/operator", "/operator/audit", "/operator/upload", "/operator/source", f"/operator/archives/{known['archive']}",
        f"/operator/corrections/{thread}", f"/threads/{thread}/error", "/operator/errors", "/operator/letters?group=0123456789ab", f"/people/{person}",
        f"/sources/{name}", f"/sources/{name}/timeline", f"/drafts/{draft}", f"/archives/{known['archive']}",
        f"/threads/{thread}", f"/threads/{thread}/error", "/operator/errors", f"/threads/{thread}?view=outline", f"/threads/{thread}/mbox.gz", f"/m/{mail}",
        f"/m/{mail}?copy=0", f"/t/{mail}", f"/reports/{report}", f"/reports/{report}/print",
        f"/search?q={known['word']}&mode=words", f"/ask?q={known['word']}", f"/api/ask?q={known['word']}", "/api/openapi.json", "/api/health", "/api/health/live",
        "/api/sources", f"/api/sources/{name}", "/api/archives", f"/api/archives/{known['archive']}",
        "/api/threads?limit=200", f"/api/threads?source={name}", f"/api/threads/{thread}",
        f"/api/threads/{thread}/messages", f"/api/threads/{thread}/corrections",
        f"/api/threads/{thread}/placements", "/api/reports?limit=200", f"/api/reports?source={name}",
        f"/api/reports/{report}", f"/api/reports/{report}/markdown", f"/api/messages/{known['message']}",
        f"/api/messages/{known['message']}/raw", f"/api/chunks?thread={thread}",
        f"/api/chunks?message={known['message']}", f"/api/chunks/{known['chunk']}", "/api/drafts",
        f"/api/drafts/{draft}", f"/api/search?q={known['word']}&mode=words",
        f"/api/search?q={known['word']}&mode=words&source={name}", f"/api/feeds/sources/{name}",
        f"/api/feeds/sources/{name}/calls", f"/api/feeds/sources/{name}/calendar", f"/api/feeds/drafts/{draft}",
        f"/api/feeds/threads/{thread}", "/api/feeds/outcomes/accepted", f"/api/feeds/people/{person}",
        f"/feeds/private/x.y/sources/{name}", f"/api/operations/{known['operation']}",
        f"/api/resummaries/{known['operation']}", "/subscriptions", f"/subscriptions?kind=sources&name={name}",
        "/subscriptions/confirm", "/subscriptions/unsubscribe", "/static/none.css",
    ]  # fmt: skip


def known_of(host: Host, source: str, word: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the list's documents, as an operator finds them."""

    def items(path: str) -> list[dict[str, Any]]:
        answer = host.get(path, **headers)
        assert answer.status == 200, (path, answer.text)
        found = answer.json()["items"]
        assert found, path
        return list(found)

    thread = items(f"/api/threads?source={source}&limit=1")[0]
    message = items(f"/api/threads/{thread['thread_id']}/messages")[0]
    chunk = items(f"/api/chunks?thread={thread['thread_id']}&limit=1")[0]
    archive = items(f"/api/archives?source={source}&limit=1")[0]
    drafts = [item for one in items(f"/api/threads?source={source}") for item in one["draft_mentions"]]
    return {
        "thread": thread["thread_id"], "report": thread["report_id"], "archive": archive["archive_id"],
        "message": message["message_key"], "message_id": message["message_id"], "chunk": chunk["chunk_id"],
        "draft": next(iter(drafts), "RFC8446"), "word": word, "person": "0" * 16,
        "operation": "op-00000000-0000-0000-0000-000000000000",
    }  # fmt: skip
