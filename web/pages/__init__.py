"""The readers' pages: rendered on the server, and usable without JavaScript."""
