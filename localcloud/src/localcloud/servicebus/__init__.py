"""A Service Bus namespace for the local cloud: an engine without I/O behind a thin AMQP 1.0 server."""
