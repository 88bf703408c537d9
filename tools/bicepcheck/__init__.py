"""Checks Bicep offline, for what Microsoft's compiler would refuse or warn of."""
