"""What a reader follows. The server does not know: the page's script keeps it in the browser."""

import azure.functions as func

from web.rendering import html_errors, show

blueprint = func.Blueprint()


@blueprint.function_name("page_following")
@blueprint.route(route="following", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def following_page(req: func.HttpRequest) -> func.HttpResponse:
    return show(req, "pages/following.html")
