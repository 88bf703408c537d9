"""Publish reports: `feeds.atom_feed`, `subscriptions.send_due_digests` and `webhooks.deliver_due`."""
