"""What the checker finds, each with its place and a code that tests and people can go by."""

from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

__all__ = ["Problem", "Problems"]


@dataclass(frozen=True, order=True)
class Problem:
    file: Path
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"


class Problems:
    """The problems of one file, as they are found."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: list[Problem] = []

    def add(self, node: Node, code: str, message: str) -> None:
        problem = Problem(self.file, node.start_point.row + 1, code, message)
        if problem not in self.found:  # an expression can be reached from two sides
            self.found.append(problem)
