"""The AMQP 1.0 features that Service Bus clients use: codec, performatives, connections, sessions, links."""
