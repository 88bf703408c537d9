"""Code that the stages share."""
