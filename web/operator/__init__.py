"""The operator's page: causes of dead letters with one safe action each, and what is stuck."""
