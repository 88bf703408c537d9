"""AMQP 1.0 as far as Service Bus clients speak it: codec, performatives, connections, sessions, links."""
