"""What the reader is given: the mails of a thread, and what the operator set for their source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from shared.documents.values import Preset, RoleHolder, SourceProfile


@dataclass(frozen=True, slots=True)
class QuotedBlock:
    """Lines quoted from another mail, without their marks, at `position` in the own text around them."""

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class ThreadMail:
    message_id: str
    address: str
    text: str
    """The sender's own text: no quotes, signature or footer. Spans in a reading count in it."""
    name: str = ""
    subject: str = ""
    date: datetime | None = None
    reply_to: str | None = None
    references: tuple[str, ...] = ()
    quotes: tuple[QuotedBlock, ...] = ()
    failed: bool = False
    """The sender's authenticity failed, by the check that the source names."""


class ProfileError(ValueError):
    """What an operator set for a source cannot be used."""


END_OF_PERIOD = "the last day of a role is named `until`, not `to`"


def read_profile(settings: Mapping[str, Any]) -> SourceProfile:
    """A profile from `{"preset": ..., "roles": [{"person", "role", "from", "until"}]}`."""
    try:
        preset = Preset(settings.get("preset", Preset.FREE))
    except ValueError:
        known = ", ".join(preset.value for preset in Preset)
        raise ProfileError(f"preset {settings['preset']!r} is unknown: use one of {known}") from None
    roles = settings.get("roles", [])
    if isinstance(roles, str) or not isinstance(roles, Sequence):
        raise ProfileError('roles must be a list of {"person": address, "role": name}')
    return SourceProfile(preset, tuple(_role_holder(role) for role in roles))


def _role_holder(role: Any) -> RoleHolder:
    if not isinstance(role, Mapping) or not role.get("person") or not role.get("role"):
        raise ProfileError(f'a role needs "person" and "role", got {role!r}')
    if "to" in role:
        raise ProfileError(f"{role['person']}: {END_OF_PERIOD}")
    return RoleHolder(
        person=str(role["person"]).strip().lower(),
        role=str(role["role"]).strip().lower(),
        since=_day(role, "from"),
        until=_day(role, "until"),
    )


def _day(role: Mapping[str, Any], key: str) -> date | None:
    value = role.get(key)
    if value in (None, ""):
        return None
    try:
        return date.fromisoformat(str(value))
    except ValueError as error:
        raise ProfileError(f'"{key}" of {role["person"]} must be a date such as 2024-10-11') from error
