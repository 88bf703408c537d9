"""Subscription rules: correlation filters, and a filter that accepts every message."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.servicebus.messages import MessageView


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
    """Compare values of Config.json (strings, numbers and booleans). A boolean never equals a number."""
    return isinstance(actual, bool) == isinstance(expected, bool) and bool(actual == expected)


@dataclass(frozen=True)
class TrueFilter:
    """The filter of a subscription without rules.

    It represents the SQL filter 1=1, the only one supported.
    """

    sql = "1=1"

    def matches(self, view: MessageView) -> bool:  # noqa: ARG002 - all filters have the same signature
        return True


Filter = CorrelationFilter | TrueFilter


@dataclass(frozen=True)
class Rule:
    name: str
    filter: Filter
