"""The entities of the tests, in the official emulator's format."""

from typing import Any

KEY = (
    "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
)


def connection_string(port: int) -> str:
    return f"Endpoint=sb://localhost:{port};{KEY}"


def entity(name: str, rules: list[dict[str, Any]] | None = None, **properties: Any) -> dict[str, Any]:
    defaults = {"LockDuration": "PT1M", "MaxDeliveryCount": 3}
    described: dict[str, Any] = {"Name": name, "Properties": defaults | properties}
    return described | ({"Rules": rules} if rules else {})


def correlation(name: str, **fields: Any) -> dict[str, Any]:
    return {"Name": name, "Properties": {"FilterType": "Correlation", "CorrelationFilter": fields}}


def sql(name: str, expression: str) -> dict[str, Any]:
    return {"Name": name, "Properties": {"FilterType": "Sql", "SqlFilter": {"SqlExpression": expression}}}


def topic(name: str, *subscriptions: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"Name": name, "Properties": properties, "Subscriptions": list(subscriptions)}


def topology(queues: list[dict[str, Any]], topics: list[dict[str, Any]]) -> dict[str, Any]:
    namespace = {"Name": "sbemulatorns", "Queues": queues, "Topics": topics}
    return {"UserConfig": {"Namespaces": [namespace], "Logging": {"Type": "File"}}}


TOPOLOGY = topology(
    [
        entity("work"),
        entity("async-work"),
        entity("js-work"),
        entity("raw"),
        entity("raw-types"),
        entity("fuzz"),
        entity("raw-windows"),
        entity("faulty"),
        entity("big"),
        entity("patient"),
        entity("orphaned"),
        entity("deleted"),
        entity("prefetched"),
        entity("iterated"),
        entity("brief-locks", LockDuration="PT0.5S", MaxDeliveryCount=1000),
        entity("js-brief-locks", LockDuration="PT1S", MaxDeliveryCount=1000),
        entity("renewable", LockDuration="PT5S"),
        entity("mortal", DeadLetteringOnMessageExpiration=True),
        entity("forgetful", DefaultMessageTimeToLive="PT0.3S"),
        entity("unique", RequiresDuplicateDetection=True, DuplicateDetectionHistoryTimeWindow="PT1M"),
        entity("brief-memory", RequiresDuplicateDetection=True, DuplicateDetectionHistoryTimeWindow="PT0.3S"),
        entity("target"),
        entity("dead-target"),
        entity("forwards-dead", ForwardDeadLetteredMessagesTo="dead-target", MaxDeliveryCount=1),
        entity("entrance", ForwardTo="second"),
        entity("second", ForwardTo="target"),
        entity("ping", ForwardTo="pong"),
        entity("pong", ForwardTo="ping"),
        entity("old/rules/book"),
    ],
    [
        topic(
            "news",
            entity("all"),
            entity("sport", [correlation("label", Label="sport")]),
            entity("every", [sql("every", "1=1")]),
            entity("props", [correlation("by-property", Properties={"colour": "red", "urgent": True})]),
            entity("paged", [correlation(name, Label=f"page {name}") for name in "abc"]),
            entity("forwarded", [correlation("label", Label="forward")], ForwardTo="target"),
            RequiresDuplicateDetection=True,
            DuplicateDetectionHistoryTimeWindow="PT1M",
        ),
        topic(
            "js-news",
            entity("red", [correlation("red", Properties={"colour": "red"})]),
            entity("numbers", [correlation("by-number", Properties={"count": 5, "ratio": 1.5})]),
        ),
    ],
)
