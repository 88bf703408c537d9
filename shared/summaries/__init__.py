"""Summaries with verified citations: `extractive.ExtractiveSummarizer` and `markdown.render_markdown`."""
