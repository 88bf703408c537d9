"""A sentence in the model's words beside what it cites, and who acts in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.domain.chat_reading.evidence import LocatedQuote
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.mails import fold


@dataclass(frozen=True, slots=True)
class Told:
    """What is told, in which cited words it is looked for, and who acts in it."""

    text: str
    found: tuple[LocatedQuote, ...]
    thread: LinkedThread
    agents: Mapping[str, set[str]]

    @property
    def folded(self) -> str:
        return fold(self.text)

    @property
    def cited(self) -> str:
        return fold(" ".join(quote.text for quote in self.found))


_CLAUSE = re.compile(
    r"[;:]|, (?:and|but|while|which|who|whereas|although|though|so|as|because)\b|\b(?:while|whereas|but)\b"
)
_VERB = (
    r"(?:also |then |first |still |now |later |only |already |even |both |(?:\w+ly) |quite |rather |again )*"
    r"(?:(?:does|did|do|is|was|are|were|has|have|had|will|would|can|could|may|might|must|should)(?:n't)?\b|"
    r"(?!and\b|or\b|in\b|of\b|for\b|to\b|with\b|at\b|on\b|by\b|as\b|'s\b)\w+(?:s|ed|d|ew|ade|"
    r"aid|ook|ave|ut|ent|oke|ound)\b|"
    r"think\b|say\b|want\b|agree\b|support\b|object\b|oppose\b)"
)


def clauses(text: str) -> list[str]:
    return [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()]


def is_agent(name: str, text: str) -> bool:
    """Whether the person does something in the sentence."""
    key = re.escape(name)
    others = r"(?:,? (?:and )?[A-Z][\w.' -]{1,40}?)*"
    return bool(re.search(rf"(?<!\w){key}{others},? {_VERB}", text))


_ROLE = re.compile(
    r"\b(?:co-)?(chairs?|chairman|chairwoman|maintainers?|editors?|shepherds?|area directors?|"
    r"release managers?|secretary|"
    r"rapporteurs?)\b"
)


def roles_in(text: str) -> set[str]:
    return {match[1] for match in _ROLE.finditer(fold(text))}
