"""HTTP: the JSON API, the pages for readers, and the pages for operators."""
