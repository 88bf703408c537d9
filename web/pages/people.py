"""A person's page: where they stood over time, with the sentences; their threads and roles."""

import azure.functions as func

from shared.clients.connections import clients
from shared.core.ids import HASH_ID
from shared.domain.summaries.markdown import FATES
from shared.retrieval.mails import masked
from shared.retrieval.topics import PersonShown, PersonStand, person_shown
from web.access import is_operator
from web.parameters import id_of
from web.people_access import check_people_shown
from web.position_changes import SAID_BEFORE, SAYS
from web.rendering import html_errors, show

blueprint = func.Blueprint()
PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "x-operator-key, x-ms-client-principal"}


@blueprint.function_name("page_person")
@blueprint.route(route="people/{id}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def person_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    check_people_shown(req, connected.settings)
    person = await person_shown(connected, id_of(req, "id", HASH_ID, "person"))
    whole = connected.settings.SHOW_ADDRESSES or is_operator(req, connected.settings)
    return show(
        req,
        "pages/person.html",
        headers=PRIVATE,
        person=person,
        sends_mail=connected.settings.SMTP_URL is not None,
        addresses=person.addresses if whole else [masked(address) for address in person.addresses],
        stands=[(stand, *_words(stand)) for stand in person.stands],
        said_before=SAID_BEFORE,
        name=_name(person),
    )


def _words(stand: PersonStand) -> tuple[str, str]:
    """The chip: its words and its CSS class."""
    if stand.stance is not None:
        return SAYS[stand.stance]
    fate = FATES[stand.fate] if stand.fate else ""
    return f"objection: {fate}" if fate else "objection", "mixed"


def _name(person: PersonShown) -> str:
    return person.name or (masked(person.addresses[0]) if person.addresses else "Somebody")
