"""Shelves: partitions that many threads share.

Cosmos DB writes what lies in one partition in one batch. With a partition for each thread an archive is
hundreds of small calls; on shelves it is as many as there are shelves. A shelf follows from the thread's id
alone, so whoever knows the thread knows where to look, and there are enough of them to hold what one
deployment can (docs/scale.md). Their number is part of what is stored: to change it is a migration.
"""

import zlib

__all__ = ["shelf_of"]


def shelf_of(thread_id: str, shelves: int) -> str:
    return f"{zlib.crc32(thread_id.encode()) % shelves:03d}"
