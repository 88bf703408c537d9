"""Batches of index actions: parsing, and their effect on the stored documents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localcloud.search.errors import DocumentError, SearchError, bad_request, shown
from localcloud.search.schema import Schema
from localcloud.search.values import check_vector, key_problem, normalise_document

ACTIONS = ("upload", "merge", "mergeOrUpload", "delete")
MAX_ACTIONS = 32_000
MAX_KEY_PROBLEMS = 20  # the maximum in one response


@dataclass(slots=True)
class Action:
    kind: str
    key: str
    document: dict[str, Any]
    error: DocumentError | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    key: str
    status: int
    message: str | None = None

    def body(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "status": self.message is None,
            "errorMessage": self.message,
            "statusCode": self.status,
        }


def parse_batch(schema: Schema, body: Any) -> list[Action]:
    """Parse a batch. An invalid key, property or type rejects the batch.

    An invalid vector fails its document.
    """
    actions = body.get("value") if isinstance(body, dict) else None
    if not isinstance(actions, list) or not actions:
        raise _wrong_number("No indexing actions found in the request", "MissingIndexDocumentsActions")
    if len(actions) > MAX_ACTIONS:
        raise _wrong_number(f"Too many indexing actions found in the request: {len(actions)}")
    _check_keys(schema, actions)
    return [_action(schema, position, item) for position, item in enumerate(actions)]


def _wrong_number(found: str, code: str = "TooManyIndexDocumentsActions") -> SearchError:
    problem = f"{found}. Please include between 1 and {MAX_ACTIONS} indexing actions in your request."
    message = f"The request is invalid. Details: actions : {problem}"
    return SearchError(400, message, "MissingRequiredParameter", [(code, f"{problem} Parameters: actions")])


def _check_keys(schema: Schema, actions: list[Any]) -> None:
    keys = (item.get(schema.key.name) if isinstance(item, dict) else None for item in actions)
    problems = [f"{at}: {problem}" for at, key in enumerate(keys) if (problem := key_problem(key))]
    if problems:
        reported = problems[:MAX_KEY_PROBLEMS]
        message = f"The request is invalid. Details: actions : {' '.join(reported)}"
        details = [("InvalidDocumentKey", f"{problem} Parameters: actions") for problem in reported]
        raise SearchError(400, message, "InvalidRequestParameter", details)


def _action(schema: Schema, position: int, item: Any) -> Action:
    if not isinstance(item, dict):
        raise bad_request(f"The request is invalid. Details: actions : {position}: an object is needed.")
    kind = item.get("@search.action", "upload")
    if kind not in ACTIONS:
        raise bad_request(
            f"The request is invalid. Details: actions : {position}: @search.action {shown(kind)} is not "
            f"one of {', '.join(ACTIONS)}."
        )
    action = Action(kind, item[schema.key.name], {})
    if kind == "delete":
        return action
    try:
        action.document = normalise_document(schema, item)
        for field in schema.vector_fields:
            if (vector := action.document.get(field.name)) is not None:
                check_vector(field, vector)
    except DocumentError as error:
        action.error = error
    except SearchError as error:
        raise bad_request(f"The request is invalid. Details: actions : {position}: {error.message}") from None
    return action


def plan(
    actions: list[Action],
    current: dict[str, int],
    read: Callable[[int], dict[str, Any]],
) -> tuple[list[Outcome], dict[str, dict[str, Any] | None]]:
    """Return the outcome of each action, and the documents after the batch (None: deleted)."""
    final: dict[str, dict[str, Any] | None] = {}

    def stored(key: str) -> dict[str, Any] | None:
        if key in final:
            return final[key]
        return read(current[key]) if key in current else None

    def exists(key: str) -> bool:
        return final[key] is not None if key in final else key in current

    outcomes = []
    for action in actions:
        if action.error is not None:
            outcomes.append(Outcome(action.key, action.error.status, action.error.message))
            continue
        known = exists(action.key)
        if action.kind == "merge" and not known:
            outcomes.append(Outcome(action.key, 404, "Document not found."))
            continue
        if action.kind == "delete":
            final[action.key] = None
        elif action.kind == "upload" or not known:
            final[action.key] = action.document
        else:
            final[action.key] = (stored(action.key) or {}) | action.document
        created = not known and action.kind != "delete"
        outcomes.append(Outcome(action.key, 201 if created else 200))
    return outcomes, final
