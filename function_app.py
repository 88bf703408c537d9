"""The Functions entry point: one FunctionApp, every blueprint registered, and telemetry started."""

import azure.functions as func

from shared.clients.telemetry.setup import start_telemetry
from stages.chunking import blueprint as chunking
from stages.deliveries import blueprint as deliveries
from stages.digests import blueprint as digests
from stages.embedding import blueprint as embedding
from stages.failures import blueprint as failures
from stages.ingestion import blueprint as ingestion
from stages.integrity import blueprint as integrity
from stages.operations import blueprint as operator_requests
from stages.orchestration import blueprint as orchestration
from stages.parsing import blueprint as parsing
from stages.queue_depths import blueprint as queue_depths
from stages.removal import blueprint as removal
from stages.reporting import blueprint as reporting
from stages.summarization import blueprint as summarization
from stages.sweep import blueprint as sweep
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

start_telemetry()

app = func.FunctionApp()
app.register_functions(parsing)
app.register_functions(chunking)
app.register_functions(embedding)
app.register_functions(orchestration)
app.register_functions(summarization)
app.register_functions(reporting)
app.register_functions(deliveries)
app.register_functions(digests)
app.register_functions(failures)
app.register_functions(ingestion)
app.register_functions(queue_depths)
app.register_functions(sweep)
app.register_functions(operator_requests)
app.register_functions(operator_pages)
app.register_functions(removal)
app.register_functions(integrity)
app.register_functions(archives)
app.register_functions(health)
app.register_functions(operations)
app.register_functions(sources)
app.register_functions(static)
app.register_functions(digests_on_demand)
app.register_functions(drafts)
app.register_functions(feeds)
app.register_functions(messages)
app.register_functions(openapi)
app.register_functions(reports)
app.register_functions(search)
app.register_functions(threads)
app.register_functions(archives_pages)
app.register_functions(draft_pages)
app.register_functions(home_page)
app.register_functions(missing_page)
app.register_functions(report_page)
app.register_functions(search_page)
app.register_functions(source_pages)
app.register_functions(thread_page)
