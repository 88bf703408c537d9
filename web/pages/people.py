"""The page of a person: positions with sentences, threads and roles."""

import azure.functions as func

from shared.summaries.markdown import FATES
from shared.views.topics import PersonStand, person_view
from web.access import check_people_shown
from web.caching import BY_CALLER
from web.connected import clients
from web.parameters import id_of
from web.position_changes import SAID_BEFORE, SAYS
from web.rendering import page, show


@page("page_person", "people/{id}")
async def person_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    check_people_shown(req, connected.settings)
    person = await person_view(connected, id_of(req, "person"))
    return show(
        req,
        "pages/person.html",
        headers=BY_CALLER,
        person=person,
        sends_mail=connected.settings.sends_mail,
        addresses=person.addresses,
        stands=[(stand, *_words(stand)) for stand in person.stands],
        said_before=SAID_BEFORE,
        name=person.name or next(iter(person.addresses), "Unknown person"),
    )


def _words(stand: PersonStand) -> tuple[str, str]:
    if stand.stance is not None:
        return SAYS[stand.stance]
    fate = FATES[stand.fate] if stand.fate else ""
    return f"objection: {fate}" if fate else "objection", "mixed"
