"""Entities and rules as the Atom XML that ServiceBusAdministrationClient reads.

The JavaScript client finds elements by their written names, not by their namespaces. The elements therefore
have the service's prefixes (none, except for the counts), declared at the same elements as in the service.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from localcloud.servicebus.amqp.links import MAX_TRANSFER_BYTES
from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import MAX_ENTITY_BYTES, Queue
from localcloud.servicebus.filters import CorrelationFilter, Rule
from localcloud.servicebus.messages import SYSTEM_PROPERTIES
from localcloud.servicebus.options import EntityOptions

ATOM = "http://www.w3.org/2005/Atom"
CONNECT = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
COUNTS = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
XSD = "http://www.w3.org/2001/XMLSchema"
FOREVER = "P10675199DT2H48M5.4775807S"  # .NET's longest TimeSpan, which means no limit
_MAX_INT = 2**31


class AtomDescriptions:
    """Builds the entries of a namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._name = namespace.config.name
        # Entities come from a file, so their creation time is the start of the process.
        self._started = datetime.fromtimestamp(namespace.started_at / 1000, UTC)

    def entity(self, queue: Queue) -> Element:
        """Return the entry of a queue, a topic or a subscription."""
        title = queue.path
        if isinstance(queue, Topic):
            kind, own_fields = "TopicDescription", _topic_fields(queue)
        elif isinstance(queue, Subscription):
            title = queue.path.rpartition("/")[2]
            kind = "SubscriptionDescription"
            own_fields = _receiving_fields(queue) | {"DeadLetteringOnFilterEvaluationExceptions": False}
        else:
            kind, own_fields = "QueueDescription", _receiving_fields(queue) | _sending_fields(queue.options)
            own_fields["SizeInBytes"] = queue.bytes
        entry = self._entry(queue.path, title, kind, self._common_fields(queue.options) | own_fields)
        _add_counts(entry, queue)
        return entry

    def _common_fields(self, options: EntityOptions) -> dict[str, Any]:
        return {
            "DefaultMessageTimeToLive": _duration(options.default_ttl),
            "EnableBatchedOperations": True,
            "Status": "Active",
            "EntityAvailabilityStatus": "Available",
            "AutoDeleteOnIdle": FOREVER,
            "CreatedAt": self._started,
            "UpdatedAt": self._started,
            "AccessedAt": datetime.now(UTC),
        }

    def rule(self, subscription: Subscription, rule: Rule) -> Element:
        fields = {"Name": rule.name, "CreatedAt": self._started}
        entry = self._entry(f"{subscription.path}/Rules/{rule.name}", rule.name, "RuleDescription", fields)
        _add_filter(entry, rule)
        SubElement(_description(entry), "Action", {"i:type": "EmptyRuleAction"})
        return entry

    def namespace(self) -> Element:
        fields = {
            "CreatedTime": self._started,
            "MessagingSKU": "Standard",
            "ModifiedTime": self._started,
            "Name": self._name,
            "NamespaceType": "Messaging",
        }
        return self._entry("$namespaceinfo", self._name, "NamespaceInfo", fields)

    def _entry(self, path: str, title: str, kind: str, fields: Mapping[str, Any]) -> Element:
        entry = Element("entry", {"xmlns": ATOM})
        # The JavaScript client reads an entity's name from the path of its id.
        SubElement(entry, "id").text = f"sb://{self._name}/{quote(path, safe='/$')}"
        SubElement(entry, "title", {"type": "text"}).text = title
        SubElement(entry, "updated").text = _text(self._started)
        content = SubElement(entry, "content", {"type": "application/xml"})
        description = SubElement(content, kind, {"xmlns": CONNECT, "xmlns:i": XSI})
        for name, value in fields.items():
            if value is not None:
                SubElement(description, name).text = _text(value)
        return entry


def _description(entry: Element) -> Element:
    return entry[-1][0]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else str(value)


def _duration(milliseconds: int) -> str:
    if not milliseconds:
        return FOREVER
    return f"PT{milliseconds / 1000:g}S" if milliseconds % 60_000 else f"PT{milliseconds // 60_000}M"


def _receiving_fields(queue: Queue) -> dict[str, Any]:
    """Return the fields of entities that receivers attach to: queues and subscriptions."""
    options, counts = queue.options, queue.counts()
    return {
        "LockDuration": _duration(options.lock_duration),
        "RequiresSession": False,
        "DeadLetteringOnMessageExpiration": options.dead_letter_on_expiration,
        "MaxDeliveryCount": options.max_delivery_count,
        "ForwardTo": options.forward_to,
        "ForwardDeadLetteredMessagesTo": options.forward_dead_letters_to,
        "MessageCount": len(queue.messages) + counts.dead_lettered + counts.transfer_dead_lettered,
    }


def _sending_fields(options: EntityOptions) -> dict[str, Any]:
    """Return the fields of entities that senders attach to: queues and topics."""
    return {
        "MaxSizeInMegabytes": MAX_ENTITY_BYTES // 2**20,
        "MaxMessageSizeInKilobytes": MAX_TRANSFER_BYTES // 1024,
        "RequiresDuplicateDetection": bool(options.duplicate_window),
        "DuplicateDetectionHistoryTimeWindow": _duration(options.duplicate_window or 600_000),
        "EnablePartitioning": False,
        "EnableExpress": False,
        "IsAnonymousAccessible": False,
    }


def _topic_fields(topic: Topic) -> dict[str, Any]:
    return _sending_fields(topic.options) | {
        "SizeInBytes": topic.bytes + sum(subscription.bytes for subscription in topic.subscriptions),
        "SupportOrdering": True,
        "SubscriptionCount": len(topic.subscriptions),
        "FilteringMessagesBeforePublishing": False,
        "EnableSubscriptionPartitioning": False,
    }


def _add_counts(entry: Element, queue: Queue) -> None:
    counts = queue.counts()
    details = SubElement(_description(entry), "CountDetails", {"xmlns:d2p1": COUNTS})
    for name, value in (
        ("ActiveMessageCount", counts.active),
        ("DeadLetterMessageCount", counts.dead_lettered),
        ("ScheduledMessageCount", counts.scheduled),
        ("TransferMessageCount", 0),
        ("TransferDeadLetterMessageCount", counts.transfer_dead_lettered),
    ):
        SubElement(details, f"d2p1:{name}").text = str(value)


def _add_filter(entry: Element, rule: Rule) -> None:
    element = SubElement(_description(entry), "Filter")
    if isinstance(rule.filter, CorrelationFilter):
        element.set("i:type", "CorrelationFilter")
        _add_correlation(element, rule.filter)
    else:
        element.set("i:type", "TrueFilter")
        SubElement(element, "SqlExpression").text = rule.filter.sql
        SubElement(element, "CompatibilityLevel").text = "20"


def _add_correlation(element: Element, given: CorrelationFilter) -> None:
    for name, field in SYSTEM_PROPERTIES.items():
        if field in given.system:
            SubElement(element, name).text = given.system[field]
    if given.application:
        properties = SubElement(element, "Properties")
        for key, value in given.application.items():
            pair = SubElement(properties, "KeyValueOfstringanyType")
            SubElement(pair, "Key").text = key
            typed = {"i:type": f"d6p1:{_schema_type(value)}", "xmlns:d6p1": XSD}
            SubElement(pair, "Value", typed).text = _text(value)


def _schema_type(value: Any) -> str:
    """Return the XML schema type. The JavaScript client does not know long, so small numbers are int."""
    if type(value) is int:
        return "int" if -_MAX_INT <= value < _MAX_INT else "long"
    return {bool: "boolean", float: "double"}.get(type(value), "string")


def feed(entries: Iterable[Element], this: str, following: str | None) -> Element:
    """Return a page. Its second link points to the next page."""
    element = Element("feed", {"xmlns": ATOM})
    SubElement(element, "id").text = this
    SubElement(element, "title", {"type": "text"}).text = "Publicly Listed Services"
    SubElement(element, "updated").text = _text(datetime.now(UTC))
    SubElement(element, "link", {"rel": "self", "href": this})
    if following is not None:
        SubElement(element, "link", {"rel": "next", "href": following})
    element.extend(entries)
    return element


def error(status: int, detail: str) -> Element:
    element = Element("Error")
    SubElement(element, "Code").text = str(status)
    SubElement(element, "Detail").text = detail
    return element


def to_bytes(element: Element) -> bytes:
    encoded: bytes = tostring(element, encoding="utf-8", xml_declaration=True)
    return encoded
