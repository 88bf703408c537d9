# ruff: noqa: F401
"""The functions of the API and the pages. Importing their modules registers them."""

import web.api.archives
import web.api.ask
import web.api.drafts
import web.api.edits
import web.api.feeds
import web.api.health
import web.api.messages
import web.api.openapi
import web.api.operations
import web.api.reports
import web.api.sources
import web.api.summaries
import web.api.threads
import web.assistants
import web.operator.archives
import web.operator.audit
import web.operator.corrections
import web.operator.error_reports
import web.operator.letters
import web.operator.pages
import web.operator.sources
import web.pages.account
import web.pages.archives
import web.pages.ask
import web.pages.drafts
import web.pages.home
import web.pages.mail
import web.pages.people
import web.pages.report
import web.pages.search
import web.pages.sources
import web.pages.subscriptions
import web.pages.thread
from web.routes import blueprint

BLUEPRINTS = (blueprint,)
