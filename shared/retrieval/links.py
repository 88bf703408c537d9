"""The addresses of the API's resources and of the pages."""

from urllib.parse import quote, urlencode

__all__ = [
    "api_of",
    "page_of_archive",
    "page_of_draft",
    "page_of_message",
    "page_of_report",
    "page_of_source",
    "page_of_thread",
    "search_for",
]


def api_of(kind: str, id_: str) -> str:
    return f"/api/{kind}/{quote(id_, safe='')}"


def page_of_thread(thread_id: str) -> str:
    return f"/threads/{quote(thread_id, safe='')}"


def page_of_message(thread_id: str, message_key: str, anchor: str = "", report: str = "") -> str:
    """The message on its thread's page. `at` selects the page, if the thread fills several.

    With a report, the page marks what that report cites.
    """
    asked = urlencode({"report": report, "at": message_key} if report else {"at": message_key})
    return f"{page_of_thread(thread_id)}?{asked}#{anchor or 'm-' + message_key}"


def page_of_report(report_id: str) -> str:
    return f"/reports/{quote(report_id, safe='')}"


def page_of_source(name: str) -> str:
    return f"/sources/{quote(name, safe='')}"


def page_of_draft(name: str) -> str:
    return f"/drafts/{quote(name, safe='')}"


def page_of_archive(id_: str) -> str:
    return f"/archives/{quote(id_, safe='')}"


def search_for(**parameters: str | int | None) -> str:
    given = {name: value for name, value in parameters.items() if value}
    return f"/search?{urlencode(given)}" if given else "/search"
