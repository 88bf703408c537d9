"""The page of answers: what came of the threads that a question is about, and the sentences that say so."""

import azure.functions as func

from shared.retrieval.ask import Question, answer_question
from web.connected import clients
from web.limits import Limited
from web.pages.search import query_fault
from web.parameters import parse_query
from web.problems import Problem
from web.rendering import page, show

TEMPLATE = "pages/ask.html"


@page("page_ask", "ask", limited=Limited.ASK)
async def ask_page(req: func.HttpRequest) -> func.HttpResponse:
    text = req.params.get("q", "")
    if not text.strip():
        return show(req, TEMPLATE, query="", answer=None, error="")
    try:
        asked = parse_query(req, Question, form=True)
    except Problem as problem:
        return show(req, TEMPLATE, status=problem.status, query=text, answer=None, error=query_fault(problem))
    answer = await answer_question(await clients(), asked.q, asked.source)
    return show(req, TEMPLATE, query=text, answer=answer, error="")
