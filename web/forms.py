"""The fields of a form that a browser sent, within bounds."""

from urllib.parse import parse_qs

import azure.functions as func

from web.problems import Problem

LARGEST_FORM = 4096
MOST_FIELDS = 20


def form_of(req: func.HttpRequest, largest: int = LARGEST_FORM) -> dict[str, str]:
    body = req.get_body()
    if len(body) > largest:
        raise Problem(413, "The form is too large.")
    try:
        given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem(413, "The form has too many fields.") from None
    return {name: values[-1] for name, values in given.items()}
