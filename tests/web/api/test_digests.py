"""A digest requested over HTTP, refreshed by the app and published as a report."""

import json

import pytest

from tests.support.cloud import wait_for
from tests.web.site import Site

DRAFT = "draft:draft-ietf-tally-receipts"


def ask(site: Site, body: str) -> tuple[int, dict[str, str]]:
    answer = site.host.ask("POST", "/api/digests", body.encode())
    return answer.status, answer.json()


def test_a_digest_is_made_on_demand_and_published(site: Site) -> None:
    status, made = ask(site, json.dumps({"scope": DRAFT}))
    assert (status, made["scope"]) == (200, DRAFT)
    path = f"/api/reports/{made['report_id']}"
    wait_for(lambda: site.host.get(path).status == 200, what="the digest's report")
    assert ask(site, json.dumps({"scope": DRAFT}))[1] == made


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("no", 422, "json"),
        ("{}", 422, "scope"),
        (json.dumps({"scope": "weekly:tally:2024-W99"}), 422, "weekly:<source>:2024-W03"),
        (json.dumps({"scope": "draft:draft-ietf-tally-receipts-03"}), 422, "without version"),
        (json.dumps({"scope": "draft:RFC1"}), 404, "no thread"),
        (json.dumps({"scope": "x" * 5000}), 413, "4096"),
    ],
)
def test_a_digest_that_cannot_be_made_is_refused_with_its_reason(
    site: Site, body: str, status: int, said: str
) -> None:
    answered, problem = ask(site, body)
    assert answered == status
    assert said.lower() in json.dumps(problem).lower()
