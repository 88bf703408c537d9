"""Entities and rules as the Atom XML that ServiceBusAdministrationClient reads."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import Element, SubElement, register_namespace, tostring

from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import MAX_ENTITY_BYTES, Queue
from localcloud.servicebus.filters import CorrelationFilter, Rule, SqlFilter
from localcloud.servicebus.options import EntityOptions

__all__ = ["describe", "describe_namespace", "describe_rule", "error", "feed", "to_bytes"]

ATOM = "http://www.w3.org/2005/Atom"
CONNECT = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
COUNTS = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
XSD = "http://www.w3.org/2001/XMLSchema"
for prefix, uri in (("i", XSI), ("d2p1", COUNTS)):
    register_namespace(prefix, uri)

_FILTER_FIELDS = {
    "correlation_id": "CorrelationId",
    "message_id": "MessageId",
    "to": "To",
    "reply_to": "ReplyTo",
    "subject": "Label",
    "group_id": "SessionId",
    "reply_to_group_id": "ReplyToSessionId",
    "content_type": "ContentType",
}


def describe(queue: Queue, started: datetime) -> Element:
    """The entry of a queue, a topic or a subscription."""
    if isinstance(queue, Topic):
        return _entry(queue.path, "TopicDescription", _topic_fields(queue, started), queue)
    kind = "SubscriptionDescription" if isinstance(queue, Subscription) else "QueueDescription"
    return _entry(queue.path.rpartition("/")[2], kind, _queue_fields(queue, started), queue)


def _entry(title: str, kind: str, fields: Mapping[str, Any], queue: Queue | None = None) -> Element:
    entry = Element(f"{{{ATOM}}}entry")
    SubElement(entry, f"{{{ATOM}}}title", {"type": "text"}).text = title
    content = SubElement(entry, f"{{{ATOM}}}content", {"type": "application/xml"})
    description = SubElement(content, f"{{{CONNECT}}}{kind}")
    for name, value in fields.items():
        if value is not None:
            SubElement(description, f"{{{CONNECT}}}{name}").text = _text(value)
    if queue is not None:
        _add_counts(description, queue)
    return entry


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else str(value)


def _duration(milliseconds: int) -> str:
    return f"PT{milliseconds / 1000:g}S" if milliseconds % 60_000 else f"PT{milliseconds // 60_000}M"


def _options(options: EntityOptions) -> dict[str, Any]:
    return {
        "LockDuration": _duration(options.lock_duration),
        "RequiresSession": False,
        "DefaultMessageTimeToLive": _duration(options.default_ttl),
        "DeadLetteringOnMessageExpiration": options.dead_letter_on_expiration,
        "MaxDeliveryCount": options.max_delivery_count,
        "EnableBatchedOperations": True,
        "Status": "Active",
        "ForwardTo": options.forward_to,
        "ForwardDeadLetteredMessagesTo": options.forward_dead_letters_to,
        "EntityAvailabilityStatus": "Available",
    }


def _dates(started: datetime) -> dict[str, Any]:
    """Entities come from a file, so they are as old as the process."""
    return {"CreatedAt": started, "UpdatedAt": started, "AccessedAt": datetime.now(UTC)}


def _duplicates(options: EntityOptions) -> dict[str, Any]:
    return {
        "MaxSizeInMegabytes": MAX_ENTITY_BYTES // 2**20,
        "RequiresDuplicateDetection": bool(options.duplicate_window),
        "DuplicateDetectionHistoryTimeWindow": _duration(options.duplicate_window or 600_000),
        "EnablePartitioning": False,
    }


def _queue_fields(queue: Queue, started: datetime) -> dict[str, Any]:
    counts = queue.counts()
    total = len(queue.messages) + counts.dead_lettered + counts.transfer_dead_lettered
    fields = {**_options(queue.options), **_dates(started), "MessageCount": total}
    if not isinstance(queue, Subscription):
        fields |= {**_duplicates(queue.options), "SizeInBytes": counts.bytes}
    return fields


def _topic_fields(topic: Topic, started: datetime) -> dict[str, Any]:
    size = topic.bytes + sum(subscription.bytes for subscription in topic.subscriptions)
    return {
        "DefaultMessageTimeToLive": _duration(topic.options.default_ttl),
        **_duplicates(topic.options),
        **_dates(started),
        "SizeInBytes": size,
        "Status": "Active",
        "EnableBatchedOperations": True,
        "SupportOrdering": True,
        "SubscriptionCount": len(topic.subscriptions),
        "EntityAvailabilityStatus": "Available",
    }


def _add_counts(description: Element, queue: Queue) -> None:
    counts = queue.counts()
    details = SubElement(description, f"{{{CONNECT}}}CountDetails")
    for name, value in (
        ("ActiveMessageCount", counts.active),
        ("DeadLetterMessageCount", counts.dead_lettered),
        ("ScheduledMessageCount", counts.scheduled),
        ("TransferMessageCount", 0),
        ("TransferDeadLetterMessageCount", counts.transfer_dead_lettered),
    ):
        SubElement(details, f"{{{COUNTS}}}{name}").text = str(value)


def describe_rule(rule: Rule, started: datetime) -> Element:
    entry = _entry(rule.name, "RuleDescription", {})
    description = entry[-1][0]
    given = rule.filter
    element = SubElement(description, f"{{{CONNECT}}}Filter")
    if isinstance(given, CorrelationFilter):
        element.set(f"{{{XSI}}}type", "CorrelationFilter")
        _add_correlation(element, given)
    elif isinstance(given, SqlFilter):
        is_true = given.text.replace(" ", "") == "1=1"
        element.set(f"{{{XSI}}}type", "TrueFilter" if is_true else "SqlFilter")
        SubElement(element, f"{{{CONNECT}}}SqlExpression").text = given.text
        SubElement(element, f"{{{CONNECT}}}CompatibilityLevel").text = "20"
    SubElement(description, f"{{{CONNECT}}}Action").set(f"{{{XSI}}}type", "EmptyRuleAction")
    SubElement(description, f"{{{CONNECT}}}CreatedAt").text = _text(started)
    SubElement(description, f"{{{CONNECT}}}Name").text = rule.name
    return entry


def _add_correlation(element: Element, given: CorrelationFilter) -> None:
    for field, name in _FILTER_FIELDS.items():
        if field in given.system:
            SubElement(element, f"{{{CONNECT}}}{name}").text = given.system[field]
    if given.application:
        properties = SubElement(element, f"{{{CONNECT}}}Properties")
        for key, value in given.application.items():
            pair = SubElement(properties, f"{{{CONNECT}}}KeyValueOfstringanyType")
            SubElement(pair, f"{{{CONNECT}}}Key").text = key
            kind = {bool: "boolean", int: "long", float: "double"}.get(type(value), "string")
            # The client splits the prefix off; the declaration it belongs to is for everybody else.
            typed = {f"{{{XSI}}}type": f"d6p1:{kind}", "xmlns:d6p1": XSD}
            SubElement(pair, f"{{{CONNECT}}}Value", typed).text = _text(value)


def describe_namespace(namespace: Namespace, started: datetime) -> Element:
    fields = {
        "CreatedTime": started,
        "MessagingSKU": "Standard",
        "ModifiedTime": started,
        "Name": namespace.config.name,
        "NamespaceType": "Messaging",
    }
    return _entry(namespace.config.name, "NamespaceInfo", fields)


def feed(entries: Iterable[Element], this: str, following: str | None) -> Element:
    """A page; the second link is where the next one is."""
    element = Element(f"{{{ATOM}}}feed")
    SubElement(element, f"{{{ATOM}}}title", {"type": "text"}).text = "Publicly Listed Services"
    SubElement(element, f"{{{ATOM}}}updated").text = _text(datetime.now(UTC))
    SubElement(element, f"{{{ATOM}}}link", {"rel": "self", "href": this})
    if following is not None:
        SubElement(element, f"{{{ATOM}}}link", {"rel": "next", "href": following})
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
