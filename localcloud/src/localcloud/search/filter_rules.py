"""Rules of `$filter`: the types that can be compared, and the conditions in any and all."""

from typing import Any

from localcloud.search.errors import invalid_expression
from localcloud.search.fields import Field
from localcloud.search.filter_tokens import Constant
from localcloud.search.filters import Compare, Filter, In, Junction, Not

_NUMBERS = frozenset({"Edm.Int32", "Edm.Int64", "Edm.Double"})


def checked(field: Field, operation: str, constant: Constant) -> Any:
    fits = constant.type in ("null", field.type) or {constant.type, field.type} <= _NUMBERS
    if fits and field.type == "Edm.Boolean" and operation not in ("eq", "ne"):
        fits = False
    if not fits:
        raise invalid_expression(
            "A binary operator with incompatible types was detected. Found operand types "
            f"'{field.type}' (field '{field.name}') and '{constant.type}' for operator '{operation}'."
        )
    return constant.value


def check_string_lambda(body: Filter, operation: str, *, negated: bool) -> None:
    """Check a lambda over strings. The real service's inverted index supports only these forms."""
    if isinstance(body, Not):
        check_string_lambda(body.operand, operation, negated=not negated)
    elif isinstance(body, Junction):
        effective = body.operation if not negated else {"and": "or", "or": "and"}[body.operation]
        if effective != ("or" if operation == "any" else "and"):
            raise invalid_expression(
                f"Invalid lambda expression. Found an unsupported combination of conditions in '{operation}' "
                "over a field of type Collection(Edm.String). Use 'or' inside 'any', and 'and' inside 'all'."
            )
        for operand in body.operands:
            check_string_lambda(operand, operation, negated=negated)
    elif isinstance(body, Compare | In):
        equality = isinstance(body, In) or body.operation == "eq"
        ordered = isinstance(body, Compare) and body.operation not in ("eq", "ne")
        if ordered or (equality == negated) != (operation == "all"):
            raise invalid_expression(
                "Invalid lambda expression. Found a test for equality or inequality where the opposite was "
                "expected in a lambda expression that iterates over a field of type Collection(Edm.String). "
                "For 'any', use expressions of the form 'x eq y' or 'search.in(...)'. For 'all', use "
                "expressions of the form 'x ne y', 'not (x eq y)', or 'not search.in(...)'."
            )
