"""Foundations that import no other package of the app, such as `ids`, `errors` and `concurrency`."""
