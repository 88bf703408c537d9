"""A thread with its reply links, people and own sentences: every part of the reader works on it."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from shared.documents.values import Preset, RoleHolder, SentenceCitation, SourceProfile
from shared.domain.consensus.cues import TRAILER
from shared.domain.consensus.mails import MAX_CHARS, OwnSentence, ThreadMail, own_sentences, word_key
from shared.domain.mail.subjects import split_subject

_LOOKS_LIKE = str.maketrans(
    {
        **dict(zip("абвгеёзийкмнортусхцьѕіјһԁԛԝѵ", "a6breee3nnkmhoptycxubsijhdqwv", strict=False)),
        **dict(zip("αβγεζηικμνορτυχωϲ", "abyezniKuvoptuxwc".lower(), strict=False)),
        **dict(zip("ıȷɑɡʟɴʀꜱ", "ijaglnrs", strict=True)),
        "0": "o", "1": "l", "|": "l", "i": "l", "5": "s", "$": "s", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o",
    }
)  # fmt: skip
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
MAX_NAME = 200


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Equal for names that look the same: letters of other scripts, accents, signs without width, order."""
    decomposed = unicodedata.normalize("NFKD", name[:MAX_NAME].casefold())
    plain = "".join(one for one in decomposed if unicodedata.category(one) not in {"Mn", "Cf", "Cc"})
    looks = plain.translate(_LOOKS_LIKE)
    for pair, one in _PAIRS:
        looks = looks.replace(pair, one)
    words = "".join(one if one.isalnum() else " " for one in looks).split()
    return " ".join(sorted(words))


_VIA = re.compile(r"^(.{2,100}?)\s+(?:via|\(via)\s+\S", re.IGNORECASE)
_BODY_AUTHOR = re.compile(r"\s*From: {0,3}\"?([^<\n\"]{0,100}?)\"? {0,3}<([^>\s]{1,200}@[^>\s]{1,200})>")
_LIST_SUFFIX = re.compile(r"\s*[(\[][^)\]]{0,60}[)\]]\s*$")
_MIN_NAME = 6
_ROLES = (
    r"(?:(?:working group|wg|co-?|acting) ?-?)*(?:chair(?:man|woman|person)?|"
    r"maintainer|editor|shepherd|area director|release manager|secretary|rapporteur|pmc (?:member|chair))"
)
_CLAIMS_ROLE = re.compile(
    rf"\b(?:as|being) (?:the |your |a |one of the )?{_ROLES}s?\b(?=[,:;.]|\s+(?:i|we|of|for|and)\b)|"
    rf"\b(?:chair|maintainer|editor|ad) hat (?:is )?on\b|"
    rf"\bi am (?:the |your |a )?{_ROLES}\b|\bspeaking as (?:the |a )?{_ROLES}\b|^[ \t]*{_ROLES}[ \t]*$",
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

    def marks(self, number: int) -> tuple[str, ...]:
        """What a reader has to know of the mail's sender: few take a position, so it is found when asked."""
        mail = self._mails[number]
        name = display_name(mail.name, mail.address)
        known_name, known_address = self._first_addresses[skeleton(name)]
        found = [UNAUTHENTICATED] if mail.failed else []
        if self.address(mail) != known_address and not _is_gateway(mail):
            found.append(SAME_NAME if word_key(name) == word_key(known_name) else CONFUSABLE)
        if self.role(number) is None and _claims_role(mail.text):
            found.append(CLAIMS_ROLE)
        return tuple(found)


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


_PATCH_TAG = re.compile(
    r"\[[^\]]{0,80}\b(?:PATCH|PULL)\b|"
    r"\bGIT PULL\b|\[RFC(?: [A-Za-z][\w-]{0,20})?(?: v\d{1,2})?,? \d{1,3}/\d{1,3}\s*\]"
)
_MACHINE = re.compile(
    r"(?:^|[\W_])(?:(?:ro|syz|dependa|"
    r"build|git)?bot|no-?reply|notifications?|jenkins|bugzilla|gerrit|patchwork|mailer-daemon)(?:$|[\W_])",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_SERIES_PART = re.compile(r"\b(\d{1,3})/(\d{1,3})\s*\]")
_MAX_ANCESTORS = 12
"""How far up an ancestor's words are looked for: older quotes are rare, long chains of replies are not."""
_LONGEST_NAME = 80
_MAX_SEARCHED = 20_000
"""Letters of a mail in which a quoted line is looked for: what lies beyond is a long patch."""
_MIN_KEY = 24
"""Letters of a sentence that two people do not write by chance."""
_DIFF_MARKS = ("\ndiff --git ", "\n--- a/", "\n@@ -", "\nIndex: ")
_DIFF_OPENINGS = tuple(mark[1:] for mark in _DIFF_MARKS)
_MARKUP = re.compile(r"<[^<>]{0,80}>")
_TAIL_WORDS = 7
_MIN_PROBE = 3
_MAX_PROBES = 5
_MAX_TAIL = 600


@dataclass
class LinkedMail:
    """A mail in its place. `number` counts in the thread, `parent` is such a number."""

    number: int
    mail: ThreadMail
    person: str
    parent: int | None
    sentences: list[OwnSentence]
    has_diff: bool
    is_reply: bool
    is_machine: bool
    """Written by a program: it tells what was done, and stands nowhere."""
    is_patch: bool
    """Whether the mail itself brings a patch, a series' cover letter or a pull request."""

    @cached_property
    def words(self) -> str:
        """All own words, bare: to find a quoted line's origin."""
        return word_key(self.mail.text[:_MAX_SEARCHED])

    @property
    def version(self) -> int:
        found = _VERSION.search(self.mail.subject)
        return int(found[1]) if found else 1

    @property
    def is_part(self) -> bool:
        """A patch of a series, and not its cover letter."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0

    @property
    def is_one_of_many(self) -> bool:
        """One patch of a series of several, or an answer to one."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0 and int(found[2]) > 1


class LinkedThread:
    def __init__(self, mails: Sequence[ThreadMail], profile: SourceProfile) -> None:
        self.profile = profile
        self.people = People(mails, profile)
        numbers = {mail.message_id: number for number, mail in enumerate(mails)}
        self.mails = [self._link(number, mail, numbers) for number, mail in enumerate(mails)]
        self._drop_borrowed()
        self._answered: dict[tuple[int, int], int | None] = {}

    @property
    def preset(self) -> Preset:
        return self.profile.preset

    @property
    def root(self) -> LinkedMail:
        return self.mails[0]

    def _link(self, number: int, mail: ThreadMail, numbers: dict[str, int]) -> LinkedMail:
        wanted = [mail.reply_to, *reversed(mail.references)]
        # A parent may stand later where clocks were wrong. Cycles do no harm: `ancestors` is bounded.
        parent = next((numbers[one] for one in wanted if one in numbers and numbers[one] != number), None)
        is_reply = split_subject(mail.subject).is_reply
        return LinkedMail(
            number=number,
            mail=mail,
            person=self.people.of_mail[number],
            parent=parent,
            sentences=_without_names(own_sentences(mail.text, mail.quotes, number), mail),
            has_diff=_has_diff(mail.text),
            is_reply=is_reply,
            is_machine=bool(_MACHINE.search(f"{mail.address.partition('@')[0]} {mail.name}")),
            is_patch=not is_reply and bool(_PATCH_TAG.search(mail.subject)),
        )

    def _drop_borrowed(self) -> None:
        """Leave out sentences that an earlier mail of somebody else has: quoted, though no mark says so."""
        first_by: dict[str, str] = {}
        for mail in self.mails:
            others = [one.words for one in self.ancestors(mail) if one.person != mail.person]
            borrowed = [_is_borrowed(one, mail.person, first_by, others) for one in mail.sentences]
            kept = [
                one
                for number, one in enumerate(mail.sentences)
                if not borrowed[number]
                or (not _stands_among(borrowed, number) and _is_own_trailer(one, mail.mail))
            ]
            if len(kept) < len(mail.sentences):
                for index, sentence in enumerate(kept):
                    sentence.index = index
                mail.sentences = kept
            for sentence in kept:
                if len(sentence.text) > _MIN_KEY:
                    first_by.setdefault(sentence.key, mail.person)

    def ancestors(self, mail: LinkedMail) -> Iterator[LinkedMail]:
        """The mails it answers, nearest first, up to a bound."""
        parent = mail.parent
        for _ in range(_MAX_ANCESTORS):
            if parent is None:
                return
            yield self.mails[parent]
            parent = self.mails[parent].parent

    @cached_property
    def answered_by_others(self) -> dict[int, set[str]]:
        """Who else answers each mail that is answered at all."""
        found: dict[int, set[str]] = {}
        for mail in self.mails:
            if mail.parent is not None and mail.person != self.mails[mail.parent].person:
                found.setdefault(mail.parent, set()).add(mail.person)
        return found

    def sentences(self) -> Iterator[OwnSentence]:
        for mail in self.mails:
            yield from mail.sentences

    def mail_of(self, sentence: OwnSentence) -> LinkedMail:
        return self.mails[sentence.mail]

    def answered(self, sentence: OwnSentence) -> int | None:
        """The mail that a sentence answers: the one whose words stand quoted right above, else the parent."""
        place = (sentence.mail, sentence.block)
        if place not in self._answered:
            self._answered[place] = self._find_answered(self.mail_of(sentence), sentence.block)
        return self._answered[place]

    def _find_answered(self, mail: LinkedMail, block: int) -> int | None:
        if block < 0:
            return mail.parent
        for probe in _probes(mail.mail.quotes[block].text):
            for ancestor in self.ancestors(mail):
                if probe in ancestor.words:
                    return ancestor.number
        # Nothing shows where the lines come from: with one block it is most likely the mail replied to.
        return mail.parent if len(mail.mail.quotes) <= 1 else None

    def following(self, sentence: OwnSentence) -> OwnSentence | None:
        own = self.mail_of(sentence).sentences
        return own[sentence.index + 1] if sentence.index + 1 < len(own) else None

    def cite(self, sentence: OwnSentence) -> SentenceCitation:
        return SentenceCitation(
            message_id=self.mail_of(sentence).mail.message_id,
            start=sentence.start,
            end=sentence.end,
            quote=sentence.text,
        )


def _is_own_trailer(sentence: OwnSentence, mail: ThreadMail) -> bool:
    """Whether it is the sender's own `Reviewed-by:`: the same line as of the version before is given anew."""
    found = TRAILER.match(sentence.text)
    return found is not None and found[3].lower() == mail.address.lower()


def _stands_among(borrowed: list[bool], number: int) -> bool:
    """Whether a neighbour is borrowed: then the line came with the rest of a quote that no mark shows."""
    return any(borrowed[max(0, number - 1) : number]) or any(borrowed[number + 1 : number + 2])


def _is_borrowed(sentence: OwnSentence, person: str, first_by: dict[str, str], others: list[str]) -> bool:
    """Whether somebody else wrote it first: in a mail before, or in one of `others`, which it answers."""
    if len(sentence.text) <= _MIN_KEY:
        return False
    key = sentence.key
    if len(key) <= _MIN_KEY:
        return False
    return first_by.get(key, person) != person or any(key in words for words in others)


def _probes(quoted: str) -> Iterator[str]:
    """Words to find a quoted block's origin by: its last lines, the lowest first.

    The lowest line may be a signature, or wrapped anew: then the next ones are tried.
    """
    tried = 0
    for line in reversed(quoted[-_MAX_TAIL:].splitlines()):
        words = word_key(line).split()[-_TAIL_WORDS:]
        if len(words) >= _MIN_PROBE:
            yield " ".join(words)
            tried += 1
            if tried == _MAX_PROBES:
                return
    if not tried and (words := word_key(quoted[-_MAX_TAIL:]).split()[-_TAIL_WORDS:]):
        yield " ".join(words)


def _has_diff(text: str) -> bool:
    lines = text[:MAX_CHARS]
    return lines.startswith(_DIFF_OPENINGS) or any(mark in lines for mark in _DIFF_MARKS)


def _is_name(sentence: OwnSentence, names: set[str]) -> bool:
    if len(sentence.text) > _LONGEST_NAME:
        return False
    key = word_key(_MARKUP.sub("", sentence.text)) if "<" in sentence.text else sentence.key
    return bool(key) and names.issuperset(key.split(" "))


def _without_names(sentences: list[OwnSentence], mail: ThreadMail) -> list[OwnSentence]:
    """A line that holds nothing but the sender's name signs the mail: nobody says anything in it."""
    names = set(word_key(f"{mail.name} {mail.address.partition('@')[0]}").split())
    kept = [one for one in sentences if not _is_name(one, names)]
    for index, sentence in enumerate(kept):
        sentence.index = index
    return kept


Signed = tuple[str, str]
"""A name as somebody wrote it, and their address."""


class SharedName(NamedTuple):
    name: str
    """As most mails have it."""
    addresses: tuple[str, ...]
    """Those with the most mails first."""


def shared_names(signed: Iterable[Signed], profile: SourceProfile) -> list[SharedName]:
    """The full names under several addresses that nobody has decided on; those of most addresses first."""
    names: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, address in signed:
        shown = display_name(name, address)
        for key in [] if is_gateway_name(name) or "@" not in address else full_name_key(shown):
            names[key][shown] += 1
            counts[key][fold_address(address)] += 1
    found = [
        SharedName(_most(names[key])[0], tuple(_most(addresses)))
        for key, addresses in counts.items()
        if len(addresses) > 1 and not _is_decided(addresses.keys(), profile)
    ]
    return sorted(found, key=lambda one: (-len(one.addresses), one.name))


def _most(counts: dict[str, int]) -> list[str]:
    return sorted(counts, key=lambda one: (-counts[one], one))


def _is_decided(addresses: Iterable[str], profile: SourceProfile) -> bool:
    """Whether one group that an operator made has all of them."""
    wanted = set(addresses)
    return any(wanted <= group for group in _groups(profile))


def _groups(profile: SourceProfile) -> Iterator[set[str]]:
    for addresses in (*profile.aliases, *profile.namesakes):
        yield {fold_address(one) for one in addresses}
