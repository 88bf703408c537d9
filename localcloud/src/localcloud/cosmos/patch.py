"""Partial updates of a document: add, set, replace, remove, incr and move."""

from dataclasses import dataclass
from typing import Any

from localcloud.cosmos.errors import bad_request

MAX_OPERATIONS = 10
MAX_INDEX_DIGITS = 10
_SYSTEM = frozenset({"_rid", "_self", "_etag", "_attachments", "_ts"})


def apply_patch(document: dict[str, Any], operations: Any, protected: frozenset[tuple[str, ...]]) -> None:
    """Apply all operations in order. A patch cannot change the `protected` paths."""
    if not isinstance(operations, list) or not 1 <= len(operations) <= MAX_OPERATIONS:
        raise bad_request(f"a patch has 1 to {MAX_OPERATIONS} operations")
    for position, operation in enumerate(operations):
        if not isinstance(operation, dict):
            raise bad_request(f"patch operation {position} is not an object")
        _Operation(document, operation, position, protected).apply()


@dataclass
class _Operation:
    document: dict[str, Any]
    operation: dict[str, Any]
    position: int
    protected: frozenset[tuple[str, ...]]

    def __post_init__(self) -> None:
        self.steps = self.parse(self.operation.get("path"))

    def fail(self, message: str) -> Exception:
        path = self.operation.get("path")
        return bad_request(f"patch operation {self.position} on {path!r}: {message}")

    def parse(self, path: Any) -> list[str]:
        if not isinstance(path, str) or not path.startswith("/") or path == "/":
            raise self.fail("the path starts with / and names a property")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
        if len(steps) == 1 and steps[0] in _SYSTEM:
            raise self.fail("a system property cannot be patched")
        if any(
            tuple(steps[: len(fixed)]) == fixed or fixed[: len(steps)] == tuple(steps)
            for fixed in self.protected
        ):
            raise self.fail("the id and the partition key cannot be patched")
        return steps

    def apply(self) -> None:
        name = str(self.operation.get("op", "")).lower()
        actions = {"add": self.add, "set": self.set, "replace": self.replace, "remove": self.remove,
                   "incr": self.increment, "move": self.move}  # fmt: skip
        action = actions.get(name)
        if action is None:
            raise self.fail(f"the operation {name!r} is not one of {', '.join(actions)}")
        if name in ("add", "set", "replace", "incr") and "value" not in self.operation:
            raise self.fail(f"{name} needs a value")
        action()

    def parent(self, steps: list[str]) -> Any:
        """Return the object or array that contains the path's last step."""
        node: Any = self.document
        for step in steps[:-1]:
            if isinstance(node, dict) and step in node:
                node = node[step]
            elif isinstance(node, list) and self.is_index(step, len(node)):
                node = node[int(step)]
            else:
                raise self.fail(f"the path has no {step!r}")
        if not isinstance(node, dict | list):
            raise self.fail("the path leads through a value that is neither an object nor an array")
        return node

    def is_index(self, step: str, length: int) -> bool:
        return step.isascii() and step.isdigit() and len(step) < MAX_INDEX_DIGITS and int(step) < length

    def exists(self, node: Any, step: str) -> bool:
        return step in node if isinstance(node, dict) else self.is_index(step, len(node))

    def add(self) -> None:
        self.insert(self.steps, self.operation["value"])

    def insert(self, steps: list[str], value: Any) -> None:
        """Insert into an object, into an array at the index, or at the array's end for `-`."""
        node, last = self.parent(steps), steps[-1]
        if isinstance(node, dict):
            node[last] = value
        elif last == "-":
            node.append(value)
        elif self.is_index(last, len(node) + 1):
            node.insert(int(last), value)
        else:
            raise self.fail("the index is outside the array")

    def set(self) -> None:
        """Do the same as add, but overwrite an existing item of an array."""
        node, last = self.parent(self.steps), self.steps[-1]
        if isinstance(node, list) and self.is_index(last, len(node)):
            node[int(last)] = self.operation["value"]
        else:
            self.add()

    def replace(self) -> None:
        node, last = self.existing(self.steps)
        node[last] = self.operation["value"]

    def existing(self, steps: list[str]) -> tuple[Any, Any]:
        node, last = self.parent(steps), steps[-1]
        if not self.exists(node, last):
            raise self.fail("the path does not exist")
        return node, last if isinstance(node, dict) else int(last)

    def remove(self) -> None:
        node, last = self.existing(self.steps)
        del node[last]

    def increment(self) -> None:
        node, last = self.parent(self.steps), self.steps[-1]
        amount = self.operation["value"]
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise self.fail("incr takes a number")
        if not self.exists(node, last):
            self.insert(self.steps, amount)
            return
        key = last if isinstance(node, dict) else int(last)
        if isinstance(node[key], bool) or not isinstance(node[key], int | float):
            raise self.fail("incr works on a number")
        node[key] += amount

    def move(self) -> None:
        source = self.parse(self.operation.get("from"))
        if self.steps[: len(source)] == source and len(self.steps) > len(source):
            raise self.fail("a value cannot move into itself")
        node, last = self.existing(source)
        value = node[last]
        del node[last]
        self.insert(self.steps, value)
