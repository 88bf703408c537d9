"""A thread with its reply links, people and own sentences, on which every part of the reader works."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from shared.mail.subjects import split_subject
from shared.models.values import (
    Position,
    PositionStance,
    Preset,
    RoleHolder,
    SentenceCitation,
    SourceProfile,
    Tier,
)
from shared.reading.cues import TRAILER, Cue, Family
from shared.reading.look_alikes import skeleton
from shared.reading.mails import MAX_CHARS, OwnSentence, ThreadMail, own_sentences, word_key

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
"""Only a mail with one of these words can claim a role, so most mails are not searched further."""
UNAUTHENTICATED = "unauthenticated sender"
SAME_NAME = "same name as another address"
CONFUSABLE = "name looks like another participant's"
CLAIMS_ROLE = "claims a role that the source does not name"


def display_name(name: str, address: str) -> str:
    """Return the name without quotes, gateway or company, or the address's first part."""
    plain = name.strip("\"' ")
    if via := _VIA.match(plain):
        plain = via[1].strip("\"' ")
    plain = _LIST_SUFFIX.sub("", plain)
    return plain or address.partition("@")[0]


class People:
    """The sender of each mail: its address and those that an operator joined to it, never a name."""

    def __init__(self, mails: Sequence[ThreadMail], profile: SourceProfile) -> None:
        self._profile = profile
        self._aliases = {
            fold_address(address): fold_address(addresses[0])
            for addresses in profile.aliases
            for address in addresses
        }
        self._namesakes = {fold_address(address) for addresses in profile.namesakes for address in addresses}
        self._mails = mails
        self.of_mail = [self.address(mail) for mail in mails]
        authors = ((number, self._author(mail)) for number, mail in enumerate(mails))
        self.authors = {number: author for number, author in authors if author}
        """The author of the patch in a mail, as its body states. Authorship proves no identity."""
        self._roles = [self._role_holder(mail) for mail in mails]

    def role(self, mail: int) -> RoleHolder | None:
        """Return the role that the mail's sender held on its date."""
        return self._roles[mail]

    def address(self, mail: ThreadMail) -> str:
        """Return the sender's identity: plus-tags folded, and addresses that an operator joined.

        An address that writes for several names has one identity for each name.
        """
        folded = fold_address(mail.address)
        if self._is_sent_for_another(mail):
            return f"{folded} ({word_key(display_name(mail.name, mail.address))})"
        return self._aliases.get(folded, folded)

    def voice(self, mail: int) -> str:
        """Return the key of one voice: addresses with one full name, unless an operator separated them."""
        sent = self._mails[mail]
        if fold_address(sent.address) in self._namesakes:
            return self.of_mail[mail]
        names = full_name_key(display_name(sent.name, sent.address))
        return names[0] if names else self.of_mail[mail]

    def may_speak_for(self, mail: int, other: int) -> bool:
        """Return whether the mail is from the other's sender, or from the author behind a gateway."""
        author = self.authors.get(other) if self._is_sent_for_another(self._mails[other]) else None
        return self.of_mail[mail] in {self.of_mail[other], author}

    def _is_sent_for_another(self, mail: ThreadMail) -> bool:
        return is_gateway_name(mail.name) or self._profile.is_gateway(mail.address, mail.list_id)

    def _author(self, mail: ThreadMail) -> str | None:
        """Return the address in the `From:` line of a git patch. The sender may write any address there."""
        found = _BODY_AUTHOR.match(mail.text) if mail.text.lstrip().startswith("From:") else None
        if found is None or not _brings_a_patch(mail):
            return None
        folded = fold_address(found[2])
        return self._aliases.get(folded, folded)

    def _role_holder(self, mail: ThreadMail) -> RoleHolder | None:
        if mail.failed or (self._profile.requires_authentication and not mail.passed):
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
    def _names(self) -> dict[str, dict[str, str]]:
        """The people who write under each name as it looks, and how they spell it."""
        found: dict[str, dict[str, str]] = {}
        for mail, person in zip(self._mails, self.of_mail, strict=True):
            if self._is_sent_for_another(mail):
                continue
            name = display_name(mail.name, mail.address)
            found.setdefault(skeleton(name), {}).setdefault(person, word_key(name))
            found.setdefault(f"@{skeleton(mail.address)}", {}).setdefault(person, "")
        return found

    def marks(self, number: int) -> tuple[str, ...]:
        """Return the warnings about the mail's sender. Few mails need them, so they are found on demand."""
        mail, person = self._mails[number], self.of_mail[number]
        name = display_name(mail.name, mail.address)
        named = self._names.get(skeleton(name), {}) | self._names.get(f"@{skeleton(mail.address)}", {})
        others = {key for other, key in named.items() if other != person}
        found = [UNAUTHENTICATED] if mail.failed else []
        is_gateway = self._profile.is_gateway(mail.address, mail.list_id)
        if others and not is_gateway and fold_address(mail.address) not in self._namesakes:
            found.append(SAME_NAME if word_key(name) in others else CONFUSABLE)
        if self.role(number) is None and _claims_role(mail.text):
            found.append(CLAIMS_ROLE)
        return tuple(found)


def fold_address(address: str) -> str:
    """Return the address without a plus-tag, which its owner can add at will."""
    local, at, domain = address.lower().rpartition("@")
    plain = local.partition("+")[0]
    return f"{plain}@{domain}" if at and plain else address.lower()


def full_name_key(name: str) -> list[str]:
    """Return a key for a full name in any order, or an empty list for a first name alone."""
    words = word_key(name).split()
    joined = " ".join(sorted(words))
    return [f"name:{joined}"] if len(words) > 1 and len(joined) > _MIN_NAME else []


def _brings_a_patch(mail: ThreadMail) -> bool:
    return bool(_PATCH_TAG.search(mail.subject)) and not split_subject(mail.subject).is_reply


def is_gateway_name(name: str) -> bool:
    """Return whether the name says that a person wrote it for another. Anybody can write such a name."""
    return bool(_VIA.match(name.strip("\"' ")))


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
"""The number of ancestors whose words are searched. Older quotes are rare, long chains of replies are not."""
_LONGEST_NAME = 80
_MAX_SEARCHED = 20_000
"""Letters of a mail in which a quoted line is looked for. The rest is a long patch."""
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
    """A mail in its thread. `number` is its index in the thread, and `parent` is such an index."""

    number: int
    mail: ThreadMail
    person: str
    parent: int | None
    sentences: list[OwnSentence]
    has_diff: bool
    is_reply: bool
    is_machine: bool
    """A program wrote it. It reports actions and takes no side."""
    is_patch: bool
    """The mail itself brings a patch, a cover letter or a pull request."""

    @cached_property
    def words(self) -> str:
        """All own words without punctuation, to find the origin of a quoted line."""
        return word_key(self.mail.text[:_MAX_SEARCHED])

    def has(self, cue: Cue | Family) -> bool:
        """Return whether a sentence of the mail has the cue."""
        return any(map(cue.finds, self.sentences))

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the pattern matches in a sentence of the mail."""
        return any(pattern.search(sentence.folded) for sentence in self.sentences)

    @property
    def asks(self) -> bool:
        return any(sentence.asks for sentence in self.sentences)

    @property
    def version(self) -> int:
        found = _VERSION.search(self.mail.subject)
        return int(found[1]) if found else 1

    @property
    def is_part(self) -> bool:
        """Whether it is a patch of a series, and not the cover letter."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0

    @property
    def is_one_of_many(self) -> bool:
        """Whether it is one patch of several in a series, or an answer to one."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0 and int(found[2]) > 1


class LinkedThread:
    def __init__(self, mails: Sequence[ThreadMail], profile: SourceProfile) -> None:
        self.profile = profile
        self.people = People(mails, profile)
        self._numbers = {mail.message_id: number for number, mail in enumerate(mails)}
        self.mails = [self._link(number, mail, self._numbers) for number, mail in enumerate(mails)]
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
        # With wrong clocks a parent may come later. Cycles are harmless, because `ancestors` is bounded.
        found = (numbers[message_id] for message_id in wanted if message_id in numbers)
        parent = next((other for other in found if other != number), None)
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
        """Leave out sentences that are quoted from an answered mail without a mark.

        Only mails that the sender names count. A date proves nothing, because anybody can write an earlier
        one above another person's words.
        """
        for mail in self.mails:
            others = [other.words for other in self.named_ancestors(mail) if other.person != mail.person]
            borrowed = [_is_borrowed(sentence, others) for sentence in mail.sentences]
            kept = [
                sentence
                for number, sentence in enumerate(mail.sentences)
                if not borrowed[number]
                or (not _is_next_to_borrowed(borrowed, number) and _is_own_trailer(sentence, mail.mail))
            ]
            if len(kept) < len(mail.sentences):
                for index, sentence in enumerate(kept):
                    sentence.index = index
                mail.sentences = kept

    def named_ancestors(self, mail: LinkedMail) -> Iterator[LinkedMail]:
        """Yield the mails that it names in In-Reply-To and References, the nearest first."""
        named = dict.fromkeys([mail.mail.reply_to or "", *reversed(mail.mail.references)])
        found = (self._numbers[message_id] for message_id in named if message_id in self._numbers)
        yield from (self.mails[number] for number in islice(found, _MAX_ANCESTORS) if number != mail.number)

    def ancestors(self, mail: LinkedMail) -> Iterator[LinkedMail]:
        """Yield the mails that it answers, the nearest first, up to a bound."""
        parent = mail.parent
        for _ in range(_MAX_ANCESTORS):
            if parent is None:
                return
            yield self.mails[parent]
            parent = self.mails[parent].parent

    def is_taken_up(self, mail: LinkedMail) -> bool:
        """Return whether the mail may make a proposal to the group, whoever sent it.

        Its sender opened the thread or has a role, or a person of another domain or several people answer it.
        """
        # If the first mail is missing, the thread has no opener. The earliest date is only claimed.
        is_cut = self.root.parent is None and bool(self.root.mail.reply_to or self.root.mail.references)
        openers = set[str]() if is_cut else {self.root.person}
        if mail.person in openers or self.people.role(mail.number) is not None:
            return True
        answers = [answer for answer in self._answers.get(mail.number, ()) if answer.person != mail.person]
        others = {answer.person for answer in answers}
        has_role = any(self.people.role(answer.number) is not None for answer in answers)
        domain = _domain(mail.mail.address)
        is_local = domain == _domain(self.root.mail.address)
        elsewhere = [answer for answer in answers if is_local or _domain(answer.mail.address) != domain]
        return has_role or bool(openers & others) or bool(elsewhere) or len(others) > 1

    @cached_property
    def _answers(self) -> dict[int, list[LinkedMail]]:
        found: dict[int, list[LinkedMail]] = {}
        for mail in self.mails:
            if mail.parent is not None:
                found.setdefault(mail.parent, []).append(mail)
        return found

    @cached_property
    def answered_by_others(self) -> dict[int, set[str]]:
        """The other people who answer each answered mail."""
        found: dict[int, set[str]] = {}
        for mail in self.mails:
            if mail.parent is not None and mail.person != self.mails[mail.parent].person:
                found.setdefault(mail.parent, set()).add(mail.person)
        return found

    def sentences(self) -> Iterator[OwnSentence]:
        for mail in self.mails:
            yield from mail.sentences

    def voices(self, positions: Iterable[Position], stance: PositionStance) -> int:
        """Count the stated positions with that stance. Addresses with one full name are one voice."""
        return len(
            {
                self.people.voice(self._numbers[position.citation.message_id])
                for position in positions
                if position.tier is Tier.SAID and position.stance is stance
            }
        )

    def is_heard(self, mail: LinkedMail, owners: set[str]) -> bool:
        """Return whether the sender has a role, or a role holder or one of `owners` answers the mail."""
        if self.people.role(mail.number) is not None:
            return True
        return any(
            answer.person in owners or self.people.role(answer.number) is not None
            for answer in self._answers.get(mail.number, ())
            if answer.person != mail.person
        )

    def mail_of(self, sentence: OwnSentence) -> LinkedMail:
        return self.mails[sentence.mail]

    def answered(self, sentence: OwnSentence) -> int | None:
        """Return the mail that a sentence answers: the source of the quote above it, or the parent."""
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
        # Nothing shows the source of the lines. If there is one block, the parent is the most likely source.
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


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()


def _is_own_trailer(sentence: OwnSentence, mail: ThreadMail) -> bool:
    """Return whether it is the sender's own `Reviewed-by:`, which is repeated for each version."""
    found = TRAILER.match(sentence.text)
    return found is not None and found[3].lower() == mail.address.lower()


def _is_next_to_borrowed(borrowed: list[bool], number: int) -> bool:
    """Return whether a neighboring line is borrowed, so that the line belongs to the same unmarked quote."""
    return any(borrowed[max(0, number - 1) : number]) or any(borrowed[number + 1 : number + 2])


def _is_borrowed(sentence: OwnSentence, others: list[str]) -> bool:
    """Return whether one of `others`, which its mail answers, contains the sentence."""
    if len(sentence.text) <= _MIN_KEY or len(sentence.key) <= _MIN_KEY:
        return False
    return any(sentence.key in words for words in others)


def _probes(quoted: str) -> Iterator[str]:
    """Yield words to find a quoted block's origin by: its last lines, the lowest first.

    The lowest line may be a signature or rewrapped, so the next lines are tried, too.
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
    text = sentence.text
    if len(text) > _LONGEST_NAME:
        return False
    # Most sentences have a word that is no name, so they need no second look.
    if text.isascii() and "<" not in text and "'" not in sentence.folded and not sentence.words <= names:
        return False
    key = word_key(_MARKUP.sub("", sentence.text)) if "<" in sentence.text else sentence.key
    return bool(key) and names.issuperset(key.split(" "))


def _without_names(sentences: list[OwnSentence], mail: ThreadMail) -> list[OwnSentence]:
    """Leave out lines with nothing but the sender's name, because they sign the mail."""
    names = set(word_key(f"{mail.name} {mail.address.partition('@')[0]}").split())
    kept = [sentence for sentence in sentences if not _is_name(sentence, names)]
    for index, sentence in enumerate(kept):
        sentence.index = index
    return kept


Signed = tuple[str, str]
"""A name as its owner writes it, and the address."""


class SharedName(NamedTuple):
    name: str
    """The most common spelling."""
    addresses: tuple[str, ...]
    """The addresses with the most mails come first."""


def shared_names(signed: Iterable[Signed], profile: SourceProfile) -> list[SharedName]:
    """Return full names under several addresses that no operator decided on, the largest groups first."""
    names: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, address in signed:
        spelling = display_name(name, address)
        for key in [] if is_gateway_name(name) or "@" not in address else full_name_key(spelling):
            names[key][spelling] += 1
            counts[key][fold_address(address)] += 1
    found = [
        SharedName(_most(names[key])[0], tuple(_most(addresses)))
        for key, addresses in counts.items()
        if len(addresses) > 1 and not _is_decided(addresses.keys(), profile)
    ]
    return sorted(found, key=lambda shared: (-len(shared.addresses), shared.name))


def _most(counts: dict[str, int]) -> list[str]:
    return sorted(counts, key=lambda key: (-counts[key], key))


def _is_decided(addresses: Iterable[str], profile: SourceProfile) -> bool:
    """Return whether one group of an operator contains all of the addresses."""
    wanted = set(addresses)
    return any(wanted <= group for group in _groups(profile))


def _groups(profile: SourceProfile) -> Iterator[set[str]]:
    for addresses in (*profile.aliases, *profile.namesakes):
        yield {fold_address(address) for address in addresses}
