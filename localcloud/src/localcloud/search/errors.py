"""Error responses in the format of the real service."""

from collections.abc import Sequence
from typing import Any


class SearchError(Exception):
    """An error response: its status, its code, and a message that says what to do."""

    def __init__(
        self, status: int, message: str, code: str = "", details: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details  # code and message of each

    def body(self) -> dict[str, Any]:
        details = [{"code": code, "message": message} for code, message in self.details]
        return {"error": {"code": self.code, "message": self.message, "details": details}}


class DocumentError(SearchError):
    """The failure of one document, which does not affect the rest of its batch."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(status, message, "InvalidDocument")


def bad_request(message: str, code: str = "InvalidRequestParameter") -> SearchError:
    return SearchError(400, message, code)


def invalid_expression(message: str, parameter: str = "$filter") -> SearchError:
    return SearchError(
        400, f"Invalid expression: {message}\nParameter name: {parameter}", "InvalidRequestParameter"
    )


def not_allowed(message: str) -> SearchError:
    return SearchError(400, message, "OperationNotAllowed")


def unsupported(feature: str) -> SearchError:
    return SearchError(400, f"The local AI Search does not support {feature}.", "NotSupportedLocally")


def shown(value: Any) -> str:
    """Return a value of a request for a message: short, and without nested values."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    return repr(value)[:100]
