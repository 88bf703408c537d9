"""`python -m localcloud up`: starts the local cloud, shows it, and ends it."""
