"""The pages for readers, rendered on the server and usable without JavaScript."""
