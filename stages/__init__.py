"""The stages: one module each, with its trigger and its handler."""
