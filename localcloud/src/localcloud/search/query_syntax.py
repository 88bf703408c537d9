"""The simple query syntax: words, "phrases", prefix*, + | - and parentheses.

Like Lucene's SimpleQueryParser and the real service, the parser accepts any input: it skips an operator that
makes no sense at its position. Operators have no precedence, and are evaluated from left to right.
"""

from dataclasses import dataclass

from localcloud.search.errors import bad_request

MAX_DEPTH = 50
MAX_CLAUSES = 1024
MAX_CHARACTERS = 100_000
_DELIMITERS = frozenset('"|+()')


@dataclass(frozen=True, slots=True)
class Text:
    """A phrase, a prefix, or `words`: a run without spaces, which an analyzer can split into terms."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Everything:
    pass


@dataclass(frozen=True, slots=True)
class Negation:
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Group:
    operation: str  # and, or
    operands: "tuple[Node, ...]"


Node = Text | Everything | Negation | Group


def parse_simple(text: str, *, match_all: bool) -> Node | None:
    """Parse a query. Return None for an empty query. `match_all` is searchMode=all."""
    if len(text) > MAX_CHARACTERS:
        raise bad_request(f"The search text may have at most {MAX_CHARACTERS} characters.")
    return _Parser(text, "and" if match_all else "or").parse()


class _Level:
    """The state of the parser inside a pair of parentheses."""

    def __init__(self) -> None:
        self.top: Node | None = None
        self.operation: str | None = None  # of the group at the top
        self.pending: str | None = None  # an operator without its right operand
        self.negated = False

    def add(self, node: Node, default: str) -> None:
        if self.negated:
            node = Negation(node)
            self.negated = False
        if self.top is None:
            self.top = node
        else:
            operation = self.pending or default
            grown = self.operation == operation and isinstance(self.top, Group)
            before = self.top.operands if grown and isinstance(self.top, Group) else (self.top,)
            self.top = Group(operation, (*before, node))
            self.operation = operation
        self.pending = None


class _Parser:
    def __init__(self, text: str, default: str) -> None:
        self._text = text
        self._default = default
        self._at = 0
        self._clauses = 0
        self._closing = _matching_parentheses(text)

    def parse(self) -> Node | None:
        levels = [_Level()]
        ends: list[int] = []
        while self._at < len(self._text):
            self._step(levels, ends)
        return levels[0].top

    def _step(self, levels: list[_Level], ends: list[int]) -> None:
        level, character = levels[-1], self._text[self._at]
        if character == "(" and self._at in self._closing:
            if len(levels) > MAX_DEPTH:
                raise bad_request(f"The query is nested more than {MAX_DEPTH} levels deep.")
            ends.append(self._closing[self._at])
            levels.append(_Level())
            self._at += 1
        elif character == ")" and ends and ends[-1] == self._at:
            ends.pop()
            inner = levels.pop().top
            if inner is not None:
                levels[-1].add(inner, self._default)
            levels[-1].negated = False
            self._at += 1
        elif character in "+|":
            if level.pending is None and level.top is not None:
                level.pending = "and" if character == "+" else "or"
            self._at += 1
        elif character == "-":
            level.negated = not level.negated
            self._at += 1
        elif character.isspace() or character in "()":
            level.negated = False
            self._at += 1
        else:
            self._leaf(level)

    def _leaf(self, level: _Level) -> None:
        node = self._phrase() if self._text[self._at] == '"' else self._word()
        if node is not None:
            self._clauses += 1
            if self._clauses > MAX_CLAUSES:
                raise bad_request(f"The query has more than {MAX_CLAUSES} clauses.")
            level.add(node, self._default)
        level.negated = False

    def _phrase(self) -> Node | None:
        end = _closing_quote(self._text, self._at + 1)
        if end is None:
            self._at += 1
            return None
        text = _unescape(self._text[self._at + 1 : end])
        self._at = end + 1
        return Text("phrase", text) if text else None

    def _word(self) -> Node | None:
        start = self._at
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in _DELIMITERS or character.isspace():
                break
            self._at += 2 if character == "\\" else 1
        self._at = min(self._at, len(self._text))
        raw = self._text[start : self._at]
        if raw == "*":
            return Everything()
        if raw.endswith("*") and not raw.endswith("\\*"):
            return Text("prefix", _unescape(raw[:-1]))
        return Text("words", _unescape(raw))


def _matching_parentheses(text: str) -> dict[int, int]:
    """Return the closing position of each matched opening parenthesis, except in phrases."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    at = 0
    no_more_quotes = False
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif character == '"' and not no_more_quotes:
            end = _closing_quote(text, at + 1)
            no_more_quotes = end is None
            at = at if end is None else end
        elif character == "(":
            open_.append(at)
        elif character == ")" and open_:
            pairs[open_.pop()] = at
        at += 1
    return pairs


def _closing_quote(text: str, start: int) -> int | None:
    at = start
    while at < len(text):
        if text[at] == '"':
            return at
        at += 2 if text[at] == "\\" else 1
    return None


def _unescape(text: str) -> str:
    result, at = [], 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        result.append(text[at])
        at += 1
    return "".join(result)
