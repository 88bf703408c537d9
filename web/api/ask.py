"""Answers over HTTP."""

import azure.functions as func

from shared.retrieval.ask import Answer, Question, answer_question
from web.api.openapi import endpoint
from web.caching import answer_with
from web.connected import clients
from web.limits import Limited
from web.parameters import parse_query


@endpoint("ask", "GET", "api/ask", {200: Answer}, query=Question, limited=Limited.ASK)
async def ask(req: func.HttpRequest) -> func.HttpResponse:
    """The sentences of the mail that answer a question, by thread, with what came of it."""
    asked = parse_query(req, Question)
    return answer_with(req, await answer_question(await clients(), asked.q, asked.source))
