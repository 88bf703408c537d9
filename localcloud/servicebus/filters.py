"""Subscription rules: correlation filters and SQL filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from localcloud.servicebus.messages import MessageView
from localcloud.servicebus.sql import Expression, parse_sql


class Filter(Protocol):
    def matches(self, view: MessageView) -> bool: ...


@dataclass(frozen=True)
class CorrelationFilter:
    """Equality with each given system property (by its AMQP name) and application property."""

    system: Mapping[str, str] = field(default_factory=dict)
    application: Mapping[str, Any] = field(default_factory=dict)

    def matches(self, view: MessageView) -> bool:
        for name, expected in self.system.items():
            if view.properties[name] is None or str(view.properties[name]) != expected:
                return False
        return all(_equal(view.application.get(name), value) for name, value in self.application.items())


def _equal(actual: Any, expected: Any) -> bool:
    """Config.json has strings, numbers and booleans; True is not 1 here."""
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)


@dataclass(frozen=True)
class SqlFilter:
    text: str
    expression: Expression

    @classmethod
    def parse(cls, text: str) -> "SqlFilter":
        return cls(text, parse_sql(text))

    @property
    def constant(self) -> bool | None:
        """True or False for the expressions that clients show as a TrueFilter or FalseFilter."""
        return {"1=1": True, "1=0": False}.get(self.text.replace(" ", ""))

    def matches(self, view: MessageView) -> bool:
        """Unknown, as a comparison with an absent property is, does not match."""
        return self.expression(view) is True


@dataclass(frozen=True)
class Rule:
    name: str
    filter: Filter
