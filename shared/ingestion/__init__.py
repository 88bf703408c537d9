"""From an upload or a source to a stored archive, its document, and the event that announces it."""
