"""The pages that people read: rendered here, readable without a script."""
