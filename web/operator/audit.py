"""Operator page for audit records."""

import azure.functions as func

from shared.azure.connections import Clients
from shared.operations.audit import last_audits
from web.access import Visitor
from web.operator.forms import operators_page, show_to

SHOWN = 200


@operators_page("operator_audit", "operator/audit")
async def audit_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    """Show the latest audit records. `?actor=` selects the records of one operator."""
    actor = req.params.get("actor", "")
    audits = [audit for audit in await last_audits(connected.store, SHOWN) if actor in {"", audit.actor}]
    return show_to(req, who, "operator/audit.html", audits=audits, actor=actor, most=SHOWN)
