"""Consistency checks over everything that is stored, and the repair of what they find."""

from shared.integrity.findings import Finding, Kind
from shared.integrity.run import IntegrityError, VerifyOptions, find_damage, verify

__all__ = ["Finding", "IntegrityError", "Kind", "VerifyOptions", "find_damage", "verify"]
