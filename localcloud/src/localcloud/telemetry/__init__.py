"""The telemetry receiver: accepts the data of Azure Monitor's exporter, and answers queries on it."""
