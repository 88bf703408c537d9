"""Who is who in a thread: one person under several addresses, behind a gateway, or named by a patch.

Plus-tags are folded. One full name under several addresses is one person for as long as these addresses say
the same (see positions.py and votes.py): a name is anybody's to write, so it never changes
what another address said, and never brings a role. An operator can say which addresses are one person's, and
which are not.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from shared.documents.values import RoleHolder, SourceProfile
from shared.domain.consensus.lookalikes import skeleton
from shared.domain.consensus.own_sentences import MAX_CHARS, word_key
from shared.domain.consensus.thread_mail import ThreadMail

_VIA = re.compile(r"^(.{2,100}?)\s+(?:via|\(via)\s+\S", re.IGNORECASE)
_BODY_AUTHOR = re.compile(r"\s*From: {0,3}\"?([^<\n\"]{0,100}?)\"? {0,3}<([^>\s]{1,200}@[^>\s]{1,200})>")
_LIST_SUFFIX = re.compile(r"\s*[(\[][^)\]]{0,60}[)\]]\s*$")
_MIN_NAME = 6
_ROLES = (
    r"(?:(?:working group|wg|co-?|acting) ?-?)*(?:chair(?:man|woman|person)?|maintainer|editor|shepherd|"
    r"area director|release manager|secretary|rapporteur|pmc (?:member|chair))"
)
_CLAIMS_ROLE = re.compile(
    rf"\b(?:as|being) (?:the |your |a |one of the )?{_ROLES}s?\b(?=[,:;.]|\s+(?:i|we|of|for|and)\b)"
    rf"|\b(?:chair|maintainer|editor|ad) hat (?:is )?on\b|\bi am (?:the |your |a )?{_ROLES}\b"
    rf"|\bspeaking as (?:the |a )?{_ROLES}\b|^[ \t]*{_ROLES}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ROLE_WORDS = (
    *("chair", "maintainer", "editor", "shepherd", "area director", "release manager", "secretary"),
    *("rapporteur", "pmc ", "ad hat"),
)
"""Without one of these nobody claims a role: most mails are not searched further."""
UNAUTHENTICATED = "unauthenticated sender"
SAME_NAME = "same name as another address"
CONFUSABLE = "name looks like another participant's"
CLAIMS_ROLE = "claims a role that the source does not name"


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
        self._aliases = {
            fold_address(one): fold_address(addresses[0])
            for addresses in profile.aliases
            for one in addresses
        }
        self._namesakes = {fold_address(one) for addresses in profile.namesakes for one in addresses}
        self.authors: dict[int, str] = {}
        """By mail: who wrote the patch that it brings, where that is somebody else than its sender."""
        self.of_mail = [self._person(mail) for mail in mails]
        self._find_authors(mails)
        self._roles = [self._role_holder(mail) for mail in mails]
        self._mails = mails

    def role(self, mail: int) -> RoleHolder | None:
        """The role that the mail's sender held on its date."""
        return self._roles[mail]

    def address(self, mail: ThreadMail) -> str:
        """Which addresses are the same: plus-tags folded, and those that an operator joined."""
        folded = fold_address(mail.address)
        return self._aliases.get(folded, folded)

    def may_be(self, mail: ThreadMail, other: ThreadMail) -> bool:
        """Whether the one may speak for the other's sender: by the address, or behind a gateway."""
        return self.address(mail) == self.address(other) or _is_gateway(other)

    def marks(self, mail: int) -> tuple[str, ...]:
        """What a reader has to know of the mail's sender."""
        return tuple(self._marks_of(mail, self._mails[mail]))

    def _person(self, mail: ThreadMail) -> str:
        address = self.address(mail)
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
            keys = [author[1].lower(), *full_name_key(author[0])]
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
            keys += [author[1].lower(), *full_name_key(author[0])]
        if fold_address(mail.address) in self._namesakes:
            return []  # an operator has told them apart: the address alone says who it is
        return keys + full_name_key(sender)

    def _role_holder(self, mail: ThreadMail) -> RoleHolder | None:
        if mail.failed:
            return None
        names = {mail.address.lower(), self.address(mail)}
        day = mail.date.date() if mail.date else None
        return next(
            (
                role
                for role in self._profile.roles
                if not names.isdisjoint({role.person, fold_address(role.person)}) and role.holds_on(day)
            ),
            None,
        )

    @cached_property
    def _first_addresses(self) -> dict[str, tuple[str, str]]:
        """Of each name, as it looks: how the first who had it wrote it, and under which address."""
        first: dict[str, tuple[str, str]] = {}
        for mail in self._mails:
            name = display_name(mail.name, mail.address)
            first.setdefault(skeleton(name), (name, self.address(mail)))
        return first

    # Found when it is asked for: few senders take a position, and a claim of a role is looked for in all of
    # a mail's text.
    def _marks_of(self, number: int, mail: ThreadMail) -> Iterator[str]:
        if mail.failed:
            yield UNAUTHENTICATED
        name = display_name(mail.name, mail.address)
        known_name, known_address = self._first_addresses[skeleton(name)]
        if self.address(mail) != known_address and not _is_gateway(mail):
            yield SAME_NAME if word_key(name) == word_key(known_name) else CONFUSABLE
        if self.role(number) is None and _claims_role(mail.text):
            yield CLAIMS_ROLE


def fold_address(address: str) -> str:
    """Without a plus-tag, which the owner of an address adds as they like."""
    local, at, domain = address.lower().rpartition("@")
    plain = local.partition("+")[0]
    return f"{plain}@{domain}" if at and plain else address.lower()


def full_name_key(name: str) -> list[str]:
    """A key for a full name, whichever part comes first; a first name alone tells nobody apart."""
    words = word_key(name).split()
    joined = " ".join(sorted(words))
    return [f"name:{joined}"] if len(words) > 1 and len(joined) > _MIN_NAME else []


def _author(mail: ThreadMail) -> tuple[str, str] | None:
    """Name and address of the `From:` line that opens a patch's body."""
    found = _BODY_AUTHOR.match(mail.text) if mail.text.lstrip().startswith("From:") else None
    return (found[1], found[2]) if found else None


def _is_gateway(mail: ThreadMail) -> bool:
    return is_gateway_name(mail.name)


def is_gateway_name(name: str) -> bool:
    """Whether a gateway wrote it, for whoever it names."""
    return bool(_VIA.match(name.strip("\"' ")))


def _is_same_name(sender: str, author: str) -> bool:
    """The one is the other's full name, or a part of it."""
    words, others = set(word_key(sender).split()), set(word_key(author).split())
    return bool(words) and bool(others) and (words <= others or others <= words)


def _claims_role(text: str) -> bool:
    sample = text[:MAX_CHARS]
    lowered = sample.lower()
    return any(word in lowered for word in _ROLE_WORDS) and bool(_CLAIMS_ROLE.search(sample))
