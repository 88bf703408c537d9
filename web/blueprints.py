"""The blueprints of the API and the pages: function_app.py registers them."""

import azure.functions as func

from web.api.archives import blueprint as archives
from web.api.digests import blueprint as digests_on_demand
from web.api.drafts import blueprint as drafts
from web.api.feeds import blueprint as feeds
from web.api.health import blueprint as health
from web.api.messages import blueprint as messages
from web.api.openapi import blueprint as openapi
from web.api.operations import blueprint as operations
from web.api.reports import blueprint as reports
from web.api.search import blueprint as search
from web.api.sources import blueprint as sources
from web.api.threads import blueprint as threads
from web.operator.pages import blueprint as operator_pages
from web.pages.archives import blueprint as archives_pages
from web.pages.drafts import blueprint as draft_pages
from web.pages.home import blueprint as home_page
from web.pages.missing import blueprint as missing_page
from web.pages.report import blueprint as report_page
from web.pages.search import blueprint as search_page
from web.pages.sources import blueprint as source_pages
from web.pages.thread import blueprint as thread_page
from web.rendering import blueprint as static

BLUEPRINTS: tuple[func.Blueprint, ...] = (
    operator_pages,
    archives,
    health,
    operations,
    sources,
    static,
    digests_on_demand,
    drafts,
    feeds,
    messages,
    openapi,
    reports,
    search,
    threads,
    archives_pages,
    draft_pages,
    home_page,
    missing_page,
    report_page,
    search_page,
    source_pages,
    thread_page,
)
