"""API of questions."""

import azure.functions as func

from shared.views.ask import Question, answer_question
from shared.views.read_models import Answer
from web.api.openapi import endpoint
from web.caching import answer_with
from web.connected import clients
from web.limits import Limited
from web.parameters import parse_query


@endpoint("ask", "GET", "api/ask", {200: Answer}, query=Question, limited=Limited.ASK)
async def ask(req: func.HttpRequest) -> func.HttpResponse:
    """Answer a question with sentences of the mail by thread, and with sentences of a chat model."""
    asked = parse_query(req, Question)
    connected = await clients()
    answer = await answer_question(connected, asked.q, asked.source, written=asked.written)
    return answer_with(req, answer)
