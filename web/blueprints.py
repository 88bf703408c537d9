"""The blueprints of the API and the pages: function_app.py registers them."""

import azure.functions as func

from web.api import (  # noqa: F401 - their functions enter the API's blueprint when they are imported
    archives,
    corrections,
    digests,
    drafts,
    feeds,
    health,
    messages,
    operations,
    placements,
    reports,
    resummaries,
    search,
    sources,
    threads,
)  # fmt: skip
from web.api.openapi import blueprint as api
from web.operator.archives import blueprint as archive_why_page
from web.operator.corrections import blueprint as correction_pages
from web.operator.letters import blueprint as letter_pages
from web.operator.pages import blueprint as operator_pages
from web.operator.parted_uploads import blueprint as parted_upload_pages
from web.operator.sources import blueprint as source_form
from web.operator.uploads import blueprint as upload_pages
from web.pages.archives import blueprint as archives_pages
from web.pages.drafts import blueprint as draft_pages
from web.pages.following import blueprint as following_page
from web.pages.home import blueprint as home_page
from web.pages.mail import blueprint as mail_pages
from web.pages.missing import blueprint as missing_page
from web.pages.people import blueprint as people_pages
from web.pages.print_report import blueprint as print_page
from web.pages.report import blueprint as report_page
from web.pages.search import blueprint as search_page
from web.pages.sources import blueprint as source_pages
from web.pages.subscriptions import blueprint as subscription_pages
from web.pages.thread import blueprint as thread_page
from web.pages.timeline import blueprint as timeline_page
from web.rendering import blueprint as static

BLUEPRINTS: tuple[func.Blueprint, ...] = (
    operator_pages,
    letter_pages,
    correction_pages,
    upload_pages,
    archive_why_page,
    parted_upload_pages,
    source_form,
    api,
    static,
    archives_pages,
    draft_pages,
    following_page,
    home_page,
    mail_pages,
    missing_page,
    people_pages,
    print_page,
    report_page,
    search_page,
    source_pages,
    subscription_pages,
    thread_page,
    timeline_page,
)
