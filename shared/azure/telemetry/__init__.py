"""Telemetry: `metrics` declares all metrics and spans, and `setup` sends them to Azure Monitor."""
