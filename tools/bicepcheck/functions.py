"""Bicep's own functions and decorators, as far as we use or may use them: arguments, and what comes back."""

from dataclasses import dataclass

__all__ = ["DECORATORS", "FUNCTIONS", "Function"]

MANY = 99
DECORATORS = frozenset(
    {
        "allowed", "batchSize", "description", "export", "maxLength", "maxValue", "metadata", "minLength",
        "minValue", "sealed", "secure",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Function:
    least: int
    most: int
    returns: str  # a kind of value, or "" where it depends on the arguments


FUNCTIONS = {
    "any": Function(1, 1, ""),
    "array": Function(1, 1, "array"),
    "base64": Function(1, 1, "string"),
    "bool": Function(1, 1, "bool"),
    "cidrSubnet": Function(3, 3, "string"),
    "coalesce": Function(1, MANY, ""),
    "concat": Function(1, MANY, ""),
    "contains": Function(2, 2, "bool"),
    "deployment": Function(0, 0, "object"),
    "empty": Function(1, 1, "bool"),
    "endsWith": Function(2, 2, "bool"),
    "environment": Function(0, 0, "object"),
    "filter": Function(2, 2, "array"),
    "first": Function(1, 1, ""),
    "flatten": Function(1, 1, "array"),
    "format": Function(1, MANY, "string"),
    "guid": Function(1, MANY, "string"),
    "indexOf": Function(2, 2, "int"),
    "int": Function(1, 1, "int"),
    "items": Function(1, 1, "array"),
    "join": Function(2, 2, "string"),
    "json": Function(1, 1, ""),
    "last": Function(1, 1, ""),
    "length": Function(1, 1, "int"),
    "loadFileAsBase64": Function(1, 1, "string"),
    "loadJsonContent": Function(1, 3, ""),
    "loadTextContent": Function(1, 2, "string"),
    "map": Function(2, 2, "array"),
    "max": Function(1, MANY, "int"),
    "min": Function(1, MANY, "int"),
    "objectKeys": Function(1, 1, "array"),
    "padLeft": Function(2, 3, "string"),
    "range": Function(2, 2, "array"),
    "reduce": Function(3, 3, ""),
    "replace": Function(3, 3, "string"),
    "resourceGroup": Function(0, 2, "object"),
    "resourceId": Function(2, MANY, "string"),
    "sort": Function(2, 2, "array"),
    "split": Function(2, 2, "array"),
    "startsWith": Function(2, 2, "bool"),
    "string": Function(1, 1, "string"),
    "subscription": Function(0, 1, "object"),
    "subscriptionResourceId": Function(2, MANY, "string"),
    "substring": Function(2, 3, "string"),
    "take": Function(2, 2, ""),
    "tenant": Function(0, 0, "object"),
    "toLower": Function(1, 1, "string"),
    "toObject": Function(2, 3, "object"),
    "toUpper": Function(1, 1, "string"),
    "trim": Function(1, 1, "string"),
    "union": Function(2, MANY, ""),
    "uniqueString": Function(1, MANY, "string"),
    "uri": Function(2, 2, "string"),
    "utcNow": Function(0, 1, "string"),
}
