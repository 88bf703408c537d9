"""Why an archive is not done, for operators: errors may quote mail, which readers are not shown."""

import azure.functions as func

from shared.clients.connections import clients
from shared.core.ids import HASH_ID
from shared.retrieval.threads import find_archive
from shared.upkeep.oversight.stuck_documents import why_not_done
from web.access import cookie_header, visitor
from web.operator.forms import NEVER_KEPT, login_page
from web.parameters import id_of
from web.rendering import html_errors, show

blueprint = func.Blueprint()


@blueprint.function_name("operator_archive")
@blueprint.route(route="operator/archives/{id}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def archive_why_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    who = visitor(req, connected.settings)
    if who is None:
        return login_page(req, connected)
    archive = await find_archive(connected, id_of(req, "id", HASH_ID, "archive"))
    why = await why_not_done(connected, archive.id)
    headers = {**NEVER_KEPT, **(cookie_header(req, who.cookie) if who.cookie else {})}
    return show(req, "operator/archive.html", headers=headers, who=who, archive=archive, why=why)
