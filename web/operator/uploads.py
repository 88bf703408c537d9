"""The operator's form to send an archive in; with a script it shows how far the transfer has come."""

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.retrieval.parameters import page_of
from web.access import cookie_header, visitor
from web.operator.forms import CLOSED, NEVER_KEPT, back_to, checked_sender, login_page
from web.problems import Problem
from web.rendering import CONTENT_POLICY, content_policy, html_errors, show
from web.uploads import file_of_form, taken_in, upload_of

blueprint = func.Blueprint()
LARGEST_MB = 90  # the host takes bodies of 100 MB at most


@blueprint.function_name("operator_upload")
@blueprint.route(route="operator/upload", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def upload_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    who = visitor(req, connected.settings)
    if who is None:
        return login_page(req, connected)
    policy = _policy(connected)
    headers = {**NEVER_KEPT, **policy, **(cookie_header(req, who.cookie) if who.cookie else {})}
    return show(req, "operator/upload.html", headers=headers, who=who, largest=LARGEST_MB)


def _policy(connected: Clients) -> dict[str, str]:
    """The script of this page alone may write to Blob storage, where that is on."""
    if not connected.settings.DIRECT_UPLOADS:
        return {}
    return {CONTENT_POLICY: content_policy(connect=connected.blobs.origin)}


@blueprint.function_name("operator_uploaded")
@blueprint.route(route="operator/upload", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def upload_sent(req: func.HttpRequest) -> func.HttpResponse:
    """Take the form's file in, and go where its progress is shown."""
    connected = await clients()
    if visitor(req, connected.settings) is None:  # before a stranger's file is looked at
        raise Problem(403, CLOSED)
    _, _, fields = file_of_form(req.headers.get("content-type", ""), req.get_body())
    checked_sender(req, connected, fields)
    stored = await taken_in(upload_of(req), connected)
    return back_to(page_of("archives", stored.archive.id))
