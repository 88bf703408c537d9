"""The telemetry receiver: takes what Azure Monitor's exporter sends, and answers questions about it."""
