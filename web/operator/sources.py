"""Operator page to add a source from an address."""

import azure.functions as func
from pydantic import ValidationError

from shared.azure.connections import Clients, clients
from shared.azure.cosmos.session import Session
from shared.azure.outbound import FetchError, ForbiddenAddressError, SourceError
from shared.ingestion.fetch_runs import request_fetch
from shared.ingestion.recognising import NIGHTLY, SourceProposal, recognise
from shared.ingestion.source_definitions import SourceDefinition, check_reachable, source_of
from shared.models.sources import Source, SourceType
from shared.models.values import Preset
from shared.operations.audit import Operator, audited
from shared.views.parameters import page_of
from web.access import Visitor
from web.forms import form_of
from web.operator.forms import back_to, check_sender, operators_page, show_to
from web.problems import Problem
from web.rendering import page

SCHEDULES = {NIGHTLY: "Every night", "0 0 * * * *": "Every hour", "": "Manually"}


@operators_page("operator_source", "operator/source")
async def source_form(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:  # noqa: ARG001 - the signature of all operator pages
    return _page(req, who)


@page("operator_source_send", "operator/source", "POST")
async def source_sent(req: func.HttpRequest) -> func.HttpResponse:
    """Show the source found at the address, or add and fetch the source if the form is complete."""
    connected, form = await clients(), form_of(req)
    who = check_sender(req, connected, form)
    if "name" in form:
        return await _add(req, connected, who, form)
    try:
        found = await recognise(form.get("address", ""), connected)
    except (SourceError, ForbiddenAddressError, FetchError) as error:
        return _page(req, who, address=form.get("address", ""), fault=str(error))
    return _page(req, who, address=form.get("address", ""), found=found)


async def _add(
    req: func.HttpRequest, connected: Clients, who: Visitor, form: dict[str, str]
) -> func.HttpResponse:
    try:
        definition = _definition(form)
        check_reachable(definition, connected.settings)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(422, f"{where}: {first['msg']}" if where else str(first["msg"])) from None
    except ValueError as error:
        raise Problem(422, str(error)) from None
    source = source_of(definition, connected.runtime.now())
    selection = {"source": source.name, "readers": source.readers, "keep_days": source.keep_days}
    async with audited(
        connected, "create source", Operator(who.name, "operator's page"), selection
    ) as counts:
        counts["sources"] = int(await connected.store.create(source, Session()))
    if not counts["sources"]:
        return _page(req, who, address=definition.url, fault=f"A source named {source.name} already exists.")
    stored = await connected.store.read(Source, source.id, Session())
    await request_fetch(
        stored, connected, requested_by=f"operator's page: {who.name}", now=connected.runtime.now()
    )
    return back_to(page_of("sources", source.name))


def _definition(form: dict[str, str]) -> SourceDefinition:
    kind = form.get("type", "")
    login = {name: form[name] for name in ("username_setting", "password_setting") if form.get(name)}
    return SourceDefinition.model_validate(
        {
            "name": form["name"].strip(),
            "source_type": kind,
            "url": form.get("url", ""),
            "schedule": form.get("schedule") or None,
            "preset": form.get("preset", Preset.FREE),
            "archive_template": form.get("archive_template", ""),
            "settings": {**login, **({"since": form["since"]} if form.get("since") else {})},
        }
    )


def _page(
    req: func.HttpRequest,
    who: Visitor,
    *,
    address: str = "",
    found: SourceProposal | None = None,
    fault: str | None = None,
) -> func.HttpResponse:
    return show_to(
        req,
        who,
        "operator/source.html",
        status=422 if fault else 200,
        address=address,
        found=found,
        fault=fault,
        presets=list(Preset),
        schedules=SCHEDULES,
        types=SourceType,
    )
