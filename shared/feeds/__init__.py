"""Atom feeds of reports: reports in, XML out."""

from shared.feeds.atom import Feed, FeedEntry, atom_feed, entry_of

__all__ = ["Feed", "FeedEntry", "atom_feed", "entry_of"]
