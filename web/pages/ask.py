"""The page of answers to questions.

A script adds the sentences of the chat model, with one request for each thread. Without the script, a link
requests the complete page.
"""

import azure.functions as func
from pydantic import Field

from shared.views.ask import Question, answer_question, write_for_thread
from shared.views.parameters import MessageKey
from shared.views.written import model_of
from web.connected import clients
from web.limits import Limited
from web.pages.search import query_fault
from web.parameters import parse_query
from web.problems import Problem
from web.rendering import page, show

TEMPLATE, WRITTEN = "pages/ask.html", "pages/written.html"


class AskedOfPage(Question):
    written: bool = Field(default=False)
    thread: MessageKey | None = None  # only the sentences of the chat model about this thread


@page("page_ask", "ask", limited=Limited.ASK)
async def ask_page(req: func.HttpRequest) -> func.HttpResponse:
    text = req.params.get("q", "")
    if not text.strip():
        return show(req, TEMPLATE, query="", answer=None, error="")
    try:
        asked = parse_query(req, AskedOfPage, form=True)
    except Problem as problem:
        return show(req, TEMPLATE, status=problem.status, query=text, answer=None, error=query_fault(problem))
    connected = await clients()
    if asked.thread is not None and (model := model_of(connected.settings)):
        written = await write_for_thread(connected, asked.q, asked.thread)
        return show(req, WRITTEN, written=written.sentences, note=written.note, model=model)
    answer = await answer_question(connected, asked.q, asked.source, written=asked.written)
    given = asked.model_dump(include={"q", "source"}, exclude_none=True)
    return show(req, TEMPLATE, query=text, answer=answer, asked=given, error="")
