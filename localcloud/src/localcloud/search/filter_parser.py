"""The parser of `$filter` in Azure AI Search's grammar, which is much smaller than OData's.

The parser resolves names against the index and checks constants against the types of their fields, so a
parsed filter can be evaluated. It rejects anything outside the grammar (arithmetic, contains, `in (...)`).
"""

import re
from dataclasses import dataclass
from typing import Any

from localcloud.search.errors import SearchError, invalid_expression, unsupported
from localcloud.search.fields import Field
from localcloud.search.filter_rules import check_string_lambda, checked
from localcloud.search.filter_tokens import CONSTANTS, Constant, Token, number, tokens_of
from localcloud.search.filters import Boolean, Compare, Filter, In, Junction, Lambda, Not, Textual
from localcloud.search.schema import Schema
from localcloud.search.values import instant

MAX_DEPTH = 100
MAX_CLAUSES = 3000

_COMPARISONS = frozenset({"eq", "ne", "gt", "ge", "lt", "le"})
_MIRRORED = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
_WORDS = _COMPARISONS | {"and", "or", "not"} | set(CONSTANTS)


@dataclass(frozen=True, slots=True)
class _Variable:
    """A field, and its column in the current frame."""

    field: Field
    column: str


def parse_filter(text: str, schema: Schema) -> Filter:
    return _Parser(text, schema).parse()


class _Parser:
    def __init__(self, text: str, schema: Schema) -> None:
        self._text = text
        self._schema = schema
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._clauses = 0
        self._variable: tuple[str, Field] | None = None  # of the current lambda

    def parse(self) -> Filter:
        result = self._junction()
        if self._peek().kind != "end":
            raise self._error()
        return result

    # tokens

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, text: str) -> bool:
        if self._peek().text == text and self._peek().kind in ("mark", "name"):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._error(f"'{text}' expected")

    def _error(self, why: str = "") -> SearchError:
        where = f"Syntax error at position {self._peek().at} in '{self._text:.200}'"
        return invalid_expression(f"{where}: {why}." if why else f"{where}.")

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise invalid_expression(f"The filter is nested more than {MAX_DEPTH} levels deep.")

    # the grammar

    def _junction(self, word: str = "or") -> Filter:
        self._descend()
        operand = self._unary if word == "and" else lambda: self._junction("and")
        operands = [operand()]
        while self._take(word):
            operands.append(operand())
        self._depth -= 1
        return operands[0] if len(operands) == 1 else Junction(word, tuple(operands))

    def _unary(self) -> Filter:
        if self._take("not"):
            self._descend()
            negated = Not(self._unary())
            self._depth -= 1
            return negated
        return self._clause()

    def _clause(self) -> Filter:
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise invalid_expression(f"The filter has more than {MAX_CLAUSES} clauses.")
        if self._take("("):
            inner = self._junction()
            self._expect(")")
            return inner
        if self._peek().kind == "name" and self._peek(1).text == "(":
            return self._function()
        left = self._operand()
        if isinstance(left, Lambda):
            return left
        if self._peek().text in _COMPARISONS and self._peek().kind == "name":
            return self._comparison(left, self._next().text)
        return self._condition(left)

    def _condition(self, operand: Constant | _Variable) -> Filter:
        """Return the filter for a Boolean field or constant without a comparison."""
        if isinstance(operand, Constant) and isinstance(operand.value, bool):
            return Boolean(operand.value)
        if isinstance(operand, _Variable) and operand.field.type == "Edm.Boolean":
            return Compare(operand.column, "eq", value=True)
        raise self._error("a Boolean expression expected")

    def _comparison(self, left: Constant | _Variable, operation: str) -> Filter:
        right = self._operand()
        if isinstance(left, _Variable) and isinstance(right, Constant):
            return Compare(left.column, operation, checked(left.field, operation, right))
        if isinstance(right, _Variable) and isinstance(left, Constant):
            operation = _MIRRORED[operation]
            return Compare(right.column, operation, checked(right.field, operation, left))
        raise self._error("a comparison is between a field and a constant")

    def _operand(self) -> "Constant | _Variable | Lambda | Any":
        token = self._next()
        if token.kind == "string":
            return Constant("Edm.String", token.text[1:-1].replace("''", "'"))
        if token.kind == "number":
            return number(token.text)
        if token.kind == "date":
            milliseconds = instant(token.text)
            if milliseconds is None:
                raise invalid_expression(f"'{token.text}' is not a date with an offset.")
            return Constant("Edm.DateTimeOffset", milliseconds)
        if token.kind == "name":
            if token.text in CONSTANTS:
                return CONSTANTS[token.text]
            if token.text not in _WORDS and "." not in token.text:
                return self._path(token.text)
        self._at -= 1
        raise self._error()

    def _path(self, name: str) -> "_Variable | Lambda":
        field, column = self._resolve(name)
        if self._take("/"):
            operation = self._next().text
            if operation in ("any", "all") and self._peek().text == "(":
                return self._lambda(field, operation)
            raise _unknown(operation, field)
        return self._variable_at(field, column)

    def _variable_at(self, field: Field, column: str) -> _Variable:
        if field.collection and column:
            raise invalid_expression(
                f"'{field.name}' is of type Collection({field.type}): filter it with any or all."
            )
        if not field.filterable:
            raise invalid_expression(f"The field '{field.name}' is not filterable.")
        return _Variable(field, column)

    def _resolve(self, name: str) -> tuple[Field, str]:
        """Return the field and its column in the current frame.

        A range variable's column has an empty name.
        """
        if self._variable is not None:
            variable, field = self._variable
            if name != variable:
                raise invalid_expression(
                    f"'{name}' is not bound to the range variable '{variable}'. Only bound field references "
                    "are supported inside lambda expressions ('any' or 'all')."
                )
            return field, ""
        top = self._schema.by_name.get(name)
        if top is None:
            raise _unknown(name, None)
        return top, name

    def _lambda(self, field: Field, operation: str) -> Lambda:
        if not field.collection or self._variable is not None or field.is_vector:
            raise invalid_expression(f"any and all need a collection, and '{field.name}' is not one.")
        if not field.filterable:
            raise invalid_expression(f"The field '{field.name}' is not filterable.")
        self._expect("(")
        if operation == "any" and self._take(")"):
            return Lambda(field.name, operation, None)
        variable = self._next()
        if variable.kind != "name" or variable.text in _WORDS or "." in variable.text:
            raise self._error("a range variable expected")
        self._expect(":")
        self._variable = (variable.text, field)
        body = self._junction()
        self._variable = None
        self._expect(")")
        if field.type == "Edm.String":
            check_string_lambda(body, operation, negated=False)
        return Lambda(field.name, operation, body)

    # functions

    def _function(self) -> Filter:
        name = self._next().text
        if name not in ("search.in", "search.ismatch"):
            if name in _WORDS:
                raise self._error()
            raise unsupported(f"the function '{name}' in a filter (it has search.in and search.ismatch)")
        self._expect("(")
        return self._search_in() if name == "search.in" else self._is_match()

    def _search_in(self) -> Filter:
        variable = self._operand()
        if not isinstance(variable, _Variable) or variable.field.type != "Edm.String":
            raise invalid_expression("The first argument of search.in must be a string field.")
        values, delimiters = [*self._string_arguments((1, 2)), " ,"][:2]
        pattern = f"[{re.escape(delimiters)}]+" if delimiters else r"(?!)"
        return In(variable.column, frozenset(value for value in re.split(pattern, values) if value))

    def _is_match(self) -> Filter:
        if self._variable is not None:
            raise invalid_expression("search.ismatch is not supported inside lambda expressions.")
        first = self._operand()
        if not isinstance(first, Constant) or first.type != "Edm.String":
            raise self._error("a string expected")
        more = self._string_arguments((0, 1, 3))
        fields, query_type, mode = [*more, *["", "simple", "any"][len(more) :]]
        if query_type != "simple":
            raise unsupported(f"queryType '{query_type:.50}' (it has 'simple')")
        if mode not in ("any", "all"):
            raise invalid_expression("The search mode of search.ismatch is 'any' or 'all'.")
        names = tuple(name.strip() for name in fields.split(",") if name.strip())
        for name in names:
            if name not in self._schema.by_name or not self._schema.by_name[name].is_text:
                raise invalid_expression(f"The field '{name:.200}' is not searchable.")
        return Textual(first.value, names, mode == "all")

    def _string_arguments(self, numbers: tuple[int, ...]) -> list[str]:
        """Parse the arguments after the first, up to the closing parenthesis."""
        arguments = []
        while self._take(","):
            argument = self._operand()
            if not isinstance(argument, Constant) or argument.type != "Edm.String":
                raise self._error("a string expected")
            arguments.append(argument.value)
        self._expect(")")
        if len(arguments) not in numbers:
            raise self._error("wrong number of arguments")
        return arguments


def _unknown(name: str, parent: Field | None) -> SearchError:
    of = f"search.{parent.name}" if parent else "search.document"
    return invalid_expression(f"Could not find a property named '{name:.200}' on type '{of}'.")
