"""The addresses of the API's resources and of the pages."""

from urllib.parse import quote, urlencode

from shared.domain.mail.archive_addresses import bare_message_id


def api_of(kind: str, id_: str) -> str:
    return f"/api{page_of(kind, id_)}"


def page_of(kind: str, id_: str) -> str:
    """Of threads, reports, sources, drafts or archives."""
    return f"/{kind}/{quote(id_, safe='')}"


def page_of_mail(message_id: str, quoted: str = "") -> str:
    """The mail by its Message-ID, an address that lasts; with words of it, these are marked."""
    address = f"/m/{quote(bare_message_id(message_id), safe='@')}"
    return f"{address}?{urlencode({'quote': quoted})}#quote" if quoted else address


def page_of_message(thread_id: str, message_key: str, anchor: str = "", report: str = "") -> str:
    """The message on its thread's page. `at` selects the page, if the thread fills several.

    With a report, the page marks what that report cites.
    """
    asked = urlencode({"report": report, "at": message_key} if report else {"at": message_key})
    return f"{page_of('threads', thread_id)}?{asked}#{anchor or 'm-' + message_key}"
