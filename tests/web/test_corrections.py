"""Corrections in the whole app over HTTP: permissions, refusals, and the readers' view."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import AppCloud, wait_for
from tests.support.host import Answer
from tests.web.site import SAMPLES, Site, empty_site

KEY = "correct horse battery staple"
JSON = {"content_type": "application/json"}
AS_OPERATOR = {**JSON, "x_operator_key": KEY}


@pytest.fixture(scope="module")
def site(cloud: AppCloud) -> Iterator[Site]:
    """A site with one sample list of its own, because these tests change its readings."""
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with empty_site(cloud, OPERATOR_KEY=KEY) as running:
        name, path = next(iter(SAMPLES.items()))
        running.wait_until_reported(running.upload(name, path.read_bytes()))
        yield running


@pytest.fixture(scope="module")
def thread(site: Site) -> dict[str, Any]:
    found = site.json("/api/threads?limit=200")["items"]
    return dict(next(thread for thread in found if thread["message_count"] > 3))


def post(site: Site, thread: dict[str, Any], body: Any, **headers: str) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return site.host.ask("POST", f"/api/threads/{thread['thread_id']}/corrections", text, 30, **headers)


def wait_for_sentence(site: Site, thread: dict[str, Any], sentence: str | None) -> None:
    def is_shown() -> bool:
        now = site.json(f"/api/threads/{thread['thread_id']}")
        shown = now["outcome"]["sentence"]
        done = now["status"] == "processed" and now["report_id"] is not None
        return bool(done and (shown == sentence if sentence else shown != "Agreed in the hallway."))

    wait_for(is_shown, seconds=30, what="the thread made anew")


OUTCOME = {
    "kind": "outcome",
    "outcome": "accepted",
    "sentence": "Agreed in the hallway.",
    "reason": "I was there",
}


def test_only_who_has_the_role_may(site: Site, thread: dict[str, Any]) -> None:
    assert post(site, thread, OUTCOME, **JSON).status == 403
    assert post(site, thread, OUTCOME, **{**JSON, "x_operator_key": "guess"}).status == 403
    assert site.host.ask("DELETE", f"/api/corrections/{'0' * 32}?reason=x", "", 30).status == 403
    page = site.host.get(f"/operator/corrections/{thread['thread_id']}")
    assert (page.status, "Operator key" in page.text) == (401, True)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("{", AS_OPERATOR, 422),
        (OUTCOME, {**AS_OPERATOR, "content_type": "text/plain"}, 400),
        ("x" * 20_000, AS_OPERATOR, 413),
        ({**OUTCOME, "outcome": "won"}, AS_OPERATOR, 422),
        ({**OUTCOME, "reason": "\u202e"}, AS_OPERATOR, 422),
        ({"kind": "hidden", "message_id": "<no@where>", "quote": "x", "reason": "y"}, AS_OPERATOR, 422),
    ],
)
def test_bad_input_gets_one_clear_error(
    site: Site, thread: dict[str, Any], body: Any, headers: dict[str, str], status: int
) -> None:
    answer = post(site, thread, body, **headers)
    assert (answer.status, bool(answer.json()["detail"])) == (status, True)
    missing = {**thread, "thread_id": "0" * 16}
    assert post(site, missing, OUTCOME, **AS_OPERATOR).status == 404


def test_a_correction_is_made_shown_replaced_and_revoked(site: Site, thread: dict[str, Any]) -> None:
    made = post(site, thread, OUTCOME, **AS_OPERATOR)
    assert made.status == 201, made.text
    item = made.json()
    assert (item["entries"][0]["by"], item["entries"][0]["reason"]) == ("the operator's key", "I was there")
    wait_for_sentence(site, thread, "Agreed in the hallway.")
    now = site.json(f"/api/threads/{thread['thread_id']}")
    assert now["outcome"]["corrected"]["by"] == "the operator's key"
    other = {**OUTCOME, "outcome": "rejected", "sentence": ""}
    assert post(site, thread, other, **AS_OPERATOR).status == 409
    assert post(site, thread, other, **AS_OPERATOR, if_match='"old"').status == 409
    replaced = post(site, thread, other, **AS_OPERATOR, if_match=item["etag"])
    assert replaced.status == 201, replaced.text
    (listed,) = site.json(f"/api/threads/{thread['thread_id']}/corrections")["items"]
    assert (listed["value"]["outcome"], len(listed["entries"])) == ("rejected", 2)
    path = f"/api/corrections/{item['correction_id']}"
    assert site.host.ask("DELETE", path, "", 30, **AS_OPERATOR).status == 422  # a reason is missing
    assert site.host.ask("DELETE", f"{path}?reason=x", "", 30, **AS_OPERATOR).status == 409
    etag = replaced.json()["etag"]
    revoked = site.host.ask("DELETE", f"{path}?reason=wrong", "", 30, **AS_OPERATOR, if_match=etag)
    assert (revoked.status, revoked.json()["revoked"]) == (200, True)
    wait_for_sentence(site, thread, None)
    assert (
        site.host.ask("DELETE", f"/api/corrections/{'0' * 32}?reason=x", "", 30, **AS_OPERATOR).status == 404
    )


def test_a_reader_reports_an_error_which_only_correctors_see_and_changes_nothing(
    site: Site, thread: dict[str, Any]
) -> None:
    path, words = f"/threads/{thread['thread_id']}/error", "Bob did not object <b>here</b>."
    before = site.json(f"/api/threads/{thread['thread_id']}")
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert f'href="{path}"' in site.host.get(f"/threads/{thread['thread_id']}").text
    assert site.host.get(path).status == 200
    fields = urlencode({"reason": words})
    assert site.host.ask("POST", path, fields, 30, **form, origin="https://evil.example").status == 403
    assert site.host.ask("POST", path, "reason=", 30, **form, origin=site.url).status == 422
    for _ in range(2):  # a repeat is one report
        sent = site.host.ask("POST", path, fields, 30, **form, origin=site.url)
        assert (sent.status, "A corrector will look at it" in sent.text) == (200, True), sent.text
    assert site.host.get("/operator/errors").status == 401
    listed = site.host.get("/operator/errors", x_operator_key=KEY).text
    assert listed.count("Bob did not object &lt;b&gt;here&lt;/b&gt;.") == 1
    assert f"/operator/corrections/{thread['thread_id']}" in listed
    assert "Bob did not object" not in site.host.get(f"/threads/{thread['thread_id']}").text
    found = site.json(f"/api/threads/{thread['thread_id']}/corrections")["items"]
    assert "reported" not in {one["kind"] for one in found}
    after = site.json(f"/api/threads/{thread['thread_id']}")
    assert (after["outcome"], after["summary_id"]) == (before["outcome"], before["summary_id"])


def test_a_form_corrects_and_another_site_cannot(site: Site, thread: dict[str, Any]) -> None:
    page_at = f"/operator/corrections/{thread['thread_id']}"
    form = {"content_type": "application/x-www-form-urlencoded", "origin": site.url}
    entered = site.host.ask("POST", "/operator/enter", urlencode({"key": KEY}), 30, **form)
    cookie = entered.headers["set-cookie"].partition(";")[0]
    page = site.host.get(page_at, cookie=cookie)
    assert page.status == 200, page.text
    token = re.search(r'name="token" value="([0-9a-f]{64})"', page.text)
    assert token is not None
    fields = {**OUTCOME, "token": token[1], "reason": "read again"}
    forged = site.host.ask(
        "POST", page_at, urlencode({**fields, "token": "0" * 64}), 30, cookie=cookie, **form
    )
    elsewhere = {**form, "origin": "https://evil.example"}
    stolen = site.host.ask("POST", page_at, urlencode(fields), 30, cookie=cookie, **elsewhere)
    assert (forged.status, stolen.status) == (403, 403)
    sent = site.host.ask("POST", page_at, urlencode(fields), 30, cookie=cookie, **form)
    assert (sent.status, sent.headers["location"]) == (303, f"/threads/{thread['thread_id']}")
    wait_for_sentence(site, thread, "Agreed in the hallway.")
    shown = site.host.get(f"/threads/{thread['thread_id']}").text
    assert "Agreed in the hallway." in shown
    again = site.host.get(page_at, cookie=cookie).text
    assert "read again" in again
    wrong = site.host.ask(
        "POST", page_at, urlencode({"token": token[1], "kind": "outcome"}), 30, cookie=cookie, **form
    )
    assert wrong.status == 422


def test_an_operator_splits_a_thread_and_undoes_it(site: Site, thread: dict[str, Any]) -> None:
    address = f"/api/threads/{thread['thread_id']}/placements"
    messages = site.json(f"/api/threads/{thread['thread_id']}/messages?limit=200")["items"]
    answer = next(message for message in messages if message["depth"] == 1)
    body = json.dumps({"message_id": answer["message_id"], "reason": "another matter"})
    assert site.host.ask("POST", address, body, 30, **JSON).status == 403
    assert site.host.ask("DELETE", f"/api/placements/{'0' * 16}?reason=x", "", 30).status == 403
    form = {**AS_OPERATOR, "content_type": "text/plain"}
    assert site.host.ask("POST", address, body, 30, **form).status == 400
    nobody = json.dumps({"message_id": "<no@where>", "reason": "x"})
    assert site.host.ask("POST", address, nobody, 30, **AS_OPERATOR).status == 422
    made = site.host.ask("POST", address, body, 30, **AS_OPERATOR)
    assert made.status == 201
    placement = json.loads(made.text)

    def is_shown() -> bool:
        page = site.host.get(f"/threads/{thread['thread_id']}")
        return "was moved to another thread" in page.text and "another matter" in page.text

    wait_for(is_shown, seconds=30, what="the thread without the message")
    own = site.json(f"/api/messages/{answer['message_key']}")["thread_id"]
    assert own != thread["thread_id"]
    assert [item["placement_id"] for item in site.json(address)["items"]] == [placement["placement_id"]]
    undo = f"/api/placements/{placement['placement_id']}?reason=it+was+not"
    undone = site.host.ask("DELETE", undo, "", 30, **AS_OPERATOR)
    assert (undone.status, json.loads(undone.text)["revoked"]) == (200, True)
    assert site.json(f"/api/messages/{answer['message_key']}")["thread_id"] == thread["thread_id"]
