"""Partitions that many threads share. This module alone knows how a thread maps to one.

Cosmos DB writes documents of one partition in one batch. With a partition a thread, an archive would
be hundreds of small calls; with shared partitions there are at most as many calls as partitions. The
partition is a hash of the thread's id, so whoever knows the thread knows where to look. The stored field is
called `shelf`. The number of partitions is part of what is stored: changing it is a migration
(docs/scale.md).
"""

import zlib


def partition_of_thread(thread_id: str, shared_partitions: int) -> str:
    return f"{zlib.crc32(thread_id.encode()) % shared_partitions:03d}"
