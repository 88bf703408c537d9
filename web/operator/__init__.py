"""The pages for operators: status, dead letters, documents, archives, sources and corrections."""
