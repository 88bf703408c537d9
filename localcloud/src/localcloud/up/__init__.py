"""`python -m localcloud up`: starts, watches and stops the local cloud."""
