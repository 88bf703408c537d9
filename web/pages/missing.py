"""The 404 page. Azure tries routes in the order of function names: `zz_` makes this one the last."""

import azure.functions as func

from web.problems import Problem
from web.rendering import problem_page

blueprint = func.Blueprint()


@blueprint.function_name("zz_missing")
@blueprint.route(route="{*path}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
def missing(req: func.HttpRequest) -> func.HttpResponse:
    problem = Problem(404, "This page does not exist.")
    if req.route_params.get("path", "").lower().startswith("api/"):
        return problem.response()
    return problem_page(req, problem)
