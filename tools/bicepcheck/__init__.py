"""Checks Bicep offline: what Microsoft's compiler would refuse or warn of, as far as that can be told here."""
