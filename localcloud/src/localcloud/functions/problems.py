"""The problems of an app, reported together. The real host ignores many of them silently."""


class LoadError(ValueError):
    """The app cannot run because of problems."""

    def __init__(self, root: str, problems: list[str]) -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"the app in {root} has {count}:{lines}")
        self.problems = problems


class Problems:
    """Collects errors, which prevent the start, and warnings, which do not. Each is one line."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def error(self, where: str, problem: str, remedy: str) -> None:
        self.errors.append(_one_line(f"{where}: {problem}; {remedy}"))

    def warn(self, where: str, problem: str, remedy: str) -> None:
        self.warnings.append(_one_line(f"{where}: {problem}; {remedy}"))

    def raise_if_any(self, root: str) -> None:
        if self.errors:
            raise LoadError(root, self.errors)


def _one_line(text: str) -> str:
    return " ".join(text.split())
