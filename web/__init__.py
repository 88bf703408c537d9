"""HTTP: the JSON API, the reader's pages, the operator's pages."""
