"""The settings of an entity, and its message counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EntityOptions:
    """Settings of an entity. Durations are in milliseconds. A time to live of 0 means no expiry."""

    lock_duration: int = 60_000
    max_delivery_count: int = 10
    default_ttl: int = 0
    dead_letter_on_expiration: bool = False
    duplicate_window: int = 0
    forward_to: str | None = None
    forward_dead_letters_to: str | None = None


@dataclass(frozen=True)
class Counts:
    active: int
    scheduled: int
    dead_lettered: int
    transfer_dead_lettered: int
    bytes: int
