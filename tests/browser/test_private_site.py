"""A private site in a real browser: sign-in and sign-out, a closed list, a revoked feed, and a lockout."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.browser.conftest import chromium
from tests.support.cloud import AppCloud
from tests.web.site import Site, empty_site
from tests.web.test_access_matrix import BOARD, MARK, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
KEY = "correct horse battery staple"


@pytest.fixture(scope="module")
def private(cloud: AppCloud) -> Iterator[Site]:
    if not DEFAULT_FOLDER.exists() or chromium() is None:
        pytest.skip("the model is not built, or there is no chromium")
    with empty_site(cloud, AUTH_MODE="entra", OPERATOR_KEY=KEY) as site:
        site.headers = sign_in(site.host, "operator", name="operator")
        for name, readers in (("open", ["*"]), ("board", ["board"])):
            source = {"name": name, "source_type": "upload", "readers": readers}
            assert site.host.ask("POST", "/api/sources", json.dumps(source), 20, **site.headers).status == 201
        site.upload("open", BOARD.replace(MARK, "Lisbon").encode())
        site.upload("board", BOARD.encode())
        for archive in list(site.archives.values()):
            site.wait_until_reported(archive)
        yield site


@pytest.fixture
def visitor(private: Site, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(base_url=private.url, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def enter(page: Page, name: str, *, groups: str = "", role: str = "") -> None:
    page.get_by_label("Name").fill(name)
    if role:
        page.get_by_label(role, exact=True).check()
    page.get_by_label("Groups").fill(groups)
    page.get_by_role("button", name="Sign in").click()


def test_a_reader_signs_in_where_they_wanted_to_go_and_leaves(visitor: Page) -> None:
    visitor.goto("/sources")
    expect(visitor).to_have_url(re.compile(r"/sign-in\?to=%2Fsources"))
    enter(visitor, "Rita Reader")
    expect(visitor).to_have_url(re.compile(r"/sources$"))
    expect(visitor.get_by_role("link", name="open", exact=True)).to_be_visible()
    expect(visitor.get_by_text("board")).to_have_count(0)
    visitor.get_by_role("link", name="Account").click()
    expect(visitor.get_by_text("Rita Reader")).to_be_visible()
    kept = {cookie["name"]: cookie["value"] for cookie in visitor.context.cookies()}
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor).to_have_url(re.compile("/sign-in$"))
    # A copy of the cookie no longer works.
    visitor.context.add_cookies([{"name": "account", "value": kept["account"], "url": visitor.url}])
    visitor.goto("/sources")
    expect(visitor).to_have_url(re.compile("/sign-in"))


def test_a_closed_list_is_there_for_its_group_alone(private: Site, visitor: Page) -> None:
    visitor.goto("/sources/board")
    enter(visitor, "Rita Reader")
    expect(visitor.get_by_text("There is no list with this name.")).to_be_visible()
    visitor.goto(f"/search?q={MARK}&mode=words")
    expect(visitor.locator("main")).not_to_contain_text("plan")
    visitor.goto("/account")
    visitor.get_by_role("button", name="Sign out").click()
    enter(visitor, "Mia Member", groups="board")
    visitor.goto("/sources/board")
    expect(visitor.get_by_role("link", name=re.compile(MARK)).first).to_be_visible()
    visitor.goto(f"/search?q={MARK}&mode=words")
    expect(visitor.locator("main")).to_contain_text(MARK)


def test_a_feeds_address_is_made_shown_once_and_revoked(private: Site, visitor: Page) -> None:
    visitor.goto("/account")
    enter(visitor, "Mia Member", groups="board")
    visitor.get_by_role("button", name="Create an address").click()
    address = visitor.locator("li", has_text="board").first.locator("code").inner_text()
    assert MARK in private.host.get(address.removeprefix(private.url)).text
    visitor.goto("/account")
    expect(visitor.locator("code")).to_have_count(0)
    visitor.get_by_role("button", name="Revoke the address").click()
    expect(visitor.get_by_role("button", name="Create an address")).to_be_visible()
    assert private.host.get(address.removeprefix(private.url)).status == 404


def test_who_guesses_the_operators_key_is_locked_out_and_told_for_how_long(visitor: Page) -> None:
    visitor.goto("/operator")
    enter(visitor, "Rita Reader")
    for _ in range(14):  # each wrong key doubles the wait, so a slow browser needs a few more
        if visitor.get_by_text("Too many").count():
            break
        visitor.goto("/operator")
        visitor.get_by_label("Operator key").fill("a wrong key, of some length")
        visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.locator("main")).to_contain_text(re.compile(r"Too many .*Try again in \d+ s"))
