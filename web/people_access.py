"""Whether people's pages and feeds are shown: they gather what somebody said, so a site chooses them."""

import azure.functions as func

from shared.settings.app import Settings
from web.access import is_operator
from web.problems import Problem


def people_shown(req: func.HttpRequest, settings: Settings) -> bool:
    return settings.PEOPLE_PAGES or is_operator(req, settings)


def check_people_shown(req: func.HttpRequest, settings: Settings) -> None:
    if not people_shown(req, settings):
        raise Problem(404, "Pages about people are turned off.")
