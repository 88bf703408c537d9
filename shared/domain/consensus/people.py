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
        self.authors: dict[int, str] = {}
        """By mail: who wrote the patch that it brings, where that is somebody else than its sender."""
        self.of_mail = [self._person(mail) for mail in mails]
        self._find_authors(mails)
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
        if not _is_gateway(mail):
            keys.insert(0, address)
        person = next((self._known[key] for key in keys if key in self._known), None)
        if person is None:
            person = keys[0] if keys else address
        for key in keys:
            self._known.setdefault(key, person)
        return person

    def _find_authors(self, mails: Sequence[ThreadMail]) -> None:
        for number, mail in enumerate(mails):
            author = _author(mail)
            if author is None:
                continue
            keys = [author[1].lower(), *_full_name(author[0])]
            person = next((self._known[key] for key in keys if key in self._known), keys[0])
            if person != self.of_mail[number]:
                self.authors[number] = person

    def _names(self, mail: ThreadMail) -> list[str]:
        keys = []
        # The `From:` line of a patch's body names the author. Behind a gateway that is the sender; who sends
        # on the patch of somebody else stays themselves.
        author = _author(mail)
        sender = display_name(mail.name, mail.address)
        if author is not None and (_is_gateway(mail) or _is_same_name(sender, author[0])):
            keys += [author[1].lower(), *_full_name(author[0])]
        return keys + _full_name(sender)

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


def _author(mail: ThreadMail) -> tuple[str, str] | None:
    """Name and address of the `From:` line that opens a patch's body."""
    found = _BODY_AUTHOR.match(mail.text) if mail.text.lstrip().startswith("From:") else None
    return (found[1], found[2]) if found else None


def _is_gateway(mail: ThreadMail) -> bool:
    return bool(_VIA.match(mail.name.strip("\"' ")))


def _is_same_name(sender: str, author: str) -> bool:
    """The one is the other's full name, or a part of it."""
    words, others = set(word_key(sender).split()), set(word_key(author).split())
    return bool(words) and bool(others) and (words <= others or others <= words)
