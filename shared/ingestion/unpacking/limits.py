"""How much an archive may unpack to, and the account of how much it has."""

from dataclasses import dataclass
from typing import Self

from shared.ingestion.unpacking.errors import ArchiveBombError

MIB = 1024 * 1024
UNPACKED_TIMES = 4


@dataclass(frozen=True)
class UnpackLimits:
    """Bounds that no honest archive of mail comes near."""

    total_bytes: int = 8 * 1024 * MIB
    ratio: float = 200.0
    members: int = 200_000
    # A short text that repeats itself packs very well, and does no harm.
    ratio_free_bytes: int = 16 * MIB

    @classmethod
    def of(cls, largest_archive: int) -> Self:
        """The limits where a file may have so many bytes: gzip packs mail to about a quarter."""
        return cls(total_bytes=UNPACKED_TIMES * largest_archive)


class UnpackBudget:
    """What one archive has unpacked to so far."""

    def __init__(self, limits: UnpackLimits, packed_bytes: int) -> None:
        self._limits = limits
        allowed_by_ratio = max(limits.ratio_free_bytes, int(packed_bytes * limits.ratio))
        self._allowed = min(limits.total_bytes, allowed_by_ratio)
        self._by_ratio = allowed_by_ratio < limits.total_bytes
        self._unpacked = 0
        self._members = 0

    @property
    def left(self) -> int:
        return self._allowed - self._unpacked

    def spend(self, size: int, member: str) -> None:
        self._unpacked += size
        if self._unpacked <= self._allowed:
            return
        if self._by_ratio:
            raise ArchiveBombError(
                f"{member}: the archive unpacks to more than {self._limits.ratio:g} times its size;"
                " split it, or unpack it first if you trust it"
            )
        raise ArchiveBombError(
            f"{member}: the archive unpacks to more than {self._limits.total_bytes} bytes;"
            " split it, or raise ARCHIVE_MAX_BYTES"
        )

    def count_member(self, member: str) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise ArchiveBombError(
                f"{member}: the archive has more than {self._limits.members} members; split it"
            )
