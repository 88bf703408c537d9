"""Archives, read in a process of their own. It starts quickly because nothing is imported here."""
