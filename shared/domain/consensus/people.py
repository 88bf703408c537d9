"""Who is who in a thread: one person under several addresses, behind a gateway, or named by a patch."""

import re
from collections.abc import Sequence

from shared.domain.consensus.own_sentences import word_key
from shared.domain.consensus.thread_mail import RoleHolder, SourceProfile, ThreadMail

_VIA = re.compile(r"^(.{2,100}?)\s+(?:via|\(via)\s+\S", re.IGNORECASE)
_BODY_AUTHOR = re.compile(r"\s*From: {0,3}\"?([^<\n\"]{0,100}?)\"? {0,3}<([^>\s]{1,200}@[^>\s]{1,200})>")
_LIST_SUFFIX = re.compile(r"\s*[(\[][^)\]]{0,60}[)\]]\s*$")
_MIN_NAME = 6


def display_name(name: str, address: str) -> str:
    """The person's name without quotes, a gateway or a company in brackets; else the address's first part."""
    plain = name.strip("\"' ")
    if via := _VIA.match(plain):
        plain = via[1].strip("\"' ")
    plain = _LIST_SUFFIX.sub("", plain)
    return plain or address.partition("@")[0]


class People:
    """Maps each mail to one person; the person's first address stands for them."""

    def __init__(self, mails: Sequence[ThreadMail], profile: SourceProfile) -> None:
        self._known: dict[str, str] = {}
        self._profile = profile
        self.of_mail = [self._person(mail) for mail in mails]
        self._roles = [
            self._role_holder(mail, person) for mail, person in zip(mails, self.of_mail, strict=True)
        ]

    def role(self, mail: int) -> RoleHolder | None:
        """The role that the mail's sender held on its date."""
        return self._roles[mail]

    def _person(self, mail: ThreadMail) -> str:
        address = mail.address.lower()
        keys = self._names(mail)
        # A gateway writes for many: its address never joins two people.
        if not _VIA.match(mail.name.strip("\"' ")):
            keys.insert(0, address)
        person = next((self._known[key] for key in keys if key in self._known), None)
        if person is None:
            person = keys[0] if keys else address
        for key in keys:
            self._known.setdefault(key, person)
        return person

    def _names(self, mail: ThreadMail) -> list[str]:
        keys = []
        # The `From:` line of a patch's body names the author; the header names only the sender.
        if mail.text.lstrip().startswith("From:") and (author := _BODY_AUTHOR.match(mail.text)):
            keys += [author[2].lower(), *_full_name(author[1])]
        return keys + _full_name(display_name(mail.name, mail.address))

    def _role_holder(self, mail: ThreadMail, person: str) -> RoleHolder | None:
        names = {mail.address.lower(), person}
        day = mail.date.date() if mail.date else None
        return next(
            (role for role in self._profile.roles if role.person in names and role.holds_on(day)), None
        )


def _full_name(name: str) -> list[str]:
    """A key for a full name, whichever part comes first; a first name alone tells nobody apart."""
    words = word_key(name).split()
    joined = " ".join(sorted(words))
    return [f"name:{joined}"] if len(words) > 1 and len(joined) > _MIN_NAME else []
