"""Webhooks: reports go to whom the settings name, signed, until they arrive or are given up.

The parts that talk to the network are imported by themselves: the settings need only what stands here.
"""

from shared.webhooks.definitions import InvalidWebhooksError, Webhook, parse_webhooks
from shared.webhooks.signing import sign, verify_signature

__all__ = ["InvalidWebhooksError", "Webhook", "parse_webhooks", "sign", "verify_signature"]
