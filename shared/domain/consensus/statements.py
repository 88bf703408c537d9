"""Proposals, decisions and open issues, by the sentences that state them."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from shared.domain.consensus.models import ConsensusMessage, Evidence, Statement
from shared.domain.consensus.sentences import Sentence, own_sentences
from shared.domain.consensus.stance import is_question
from shared.domain.consensus.text_folding import fold, hide_sayings


class Matter(StrEnum):
    PROPOSAL = "proposal"
    DECISION = "decision"
    OPEN_ISSUE = "open issue"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_PROPOSAL = _any(
    r"\b(?:i|we)(?:'d| would| will|'ll)?(?: like to| want to)?(?: \w+ly| also| hereby| now| therefore)? "
    r"(?:propose|suggest|recommend|move that)\b",
    r"\bmy (?:\w+ )?(?:proposal|suggestion|recommendation) (?:is|would be|was)\b",
    r"\b(?:here is|here's|this is) (?:a|my|our|the) (?:\w+ )?proposal\b",
    r"^\W*propos(?:al|ed (?:text|resolution|change|wording|solution))\s*:",
    r"\blet's (?!see|say|assume|suppose|consider|hope|be|take|look)|\blet us (?!know|see|say|assume"
    r"|suppose|consider)",
    r"\bhow about (?:we |us )?\w+ing\b|\bhow about we\b|\bwhat if we\b|\bwhat about (?:\w+ing)\b",
    r"\bwhy (?:don't we|not (?:just )?(?:use|add|make|have|say|adopt|drop|keep|let))\b",
    r"\bshould we (?:adopt|add|drop|keep|use|merge|publish|change|remove|move|split|make|require)\b",
    r"\bwe (?:should|ought to) (?!not\b)(?:\w+ly )?(?:adopt|add|drop|keep|use|merge|publish|change|remove"
    r"|move|split|make|"
    r"require|define|specify|allow|state|clarify|say|rename|replace|update|close|proceed|go|just)\b",
)
_GROUP = (
    r"(?:we|(?:the )?(?:wg|working group|group|chairs?|authors?|editors?|community|iesg|meeting|committee)"
    r"|it was|it has been)"
)
_DECISION = _any(
    rf"\b{_GROUP}(?:(?:'ve| have| has| all| therefore| hereby| also| then| finally))*(?: \w+ly)? "
    r"(?:decided|agreed|resolved|concluded|determined)(?: to| that| on|:| not)",
    r"^\W*(?:decision|resolution|resolved|agreed|conclusion|outcome)(?: (?:for|on) [\w.-]+)?\s*:\s*\S",
    r"\b(?:the|our) (?:decision|conclusion|outcome) (?:is|was) (?:to|that)\b",
    r"\b(?:has been|have been|was|were|(?:is|are) (?:hereby|now|therefore)) (?:adopted|approved|merged"
    r"|withdrawn|deferred|"
    r"declared)\b(?! (?:by|in|from) (?:many|other|several))",
    r"\b(?:i|we)(?:'ve| have| hereby| just)* (?:merged|applied|queued|declare)\b",
    r"\b(?:i|we|the chairs|the wg)(?:'ll| will| shall| are going to|'re going to)(?: now| therefore)?"
    r" (?:adopt|publish|merge|"
    r"move (?:it |this |the \w+ )?forward|proceed|go with|go ahead|drop|request publication)\b",
    r"^\W*(?:queued|applied|merged)\b(?=\W|$)",
)
_OPEN_ISSUE = _any(
    r"\bopen (?:issue|question|point|item)s?\b",
    r"\b(?:issues?|questions?|points?|items?|this|it|that) (?:is|are|remains?) (?:still )?(?:open"
    r"|unresolved|undecided|pending)\b",
    r"\bstill (?:open|unresolved|undecided|outstanding|to be (?:decided|resolved|done|discussed)|needs? to"
    r" be)\b",
    r"\b(?:remaining|outstanding|unresolved|pending) (?:\w+ )?(?:issues?|questions?|comments?"
    r"|discuss(?:es)?|points?|concerns?)\b",
    r"\btbd\b|\bto be (?:determined|decided|discussed|resolved)\b|\bremains? to be\b",
    r"\b(?:needs?|requires?|deserves?) (?:more|further|some|additional) (?:discussion|work|thought|text"
    r"|review|input|time)\b",
    r"\b(?:haven't|have not|hasn't|has not|isn't|is not|aren't|wasn't|was not) (?:yet )?(?:been"
    r" )?(?:decided|resolved|agreed|settled|"
    r"addressed)\b",
    r"\bno (?:agreement|decision|resolution) (?:yet|on|about)\b",
    r"\b(?:we|someone|somebody|the wg|the group|authors) (?:still )?needs? to (?:decide|resolve|figure out"
    r"|discuss|settle|agree)\b",
)
_SETTLED = _any(
    r"\bno (?:more |other |further )?(?:open|outstanding|remaining|unresolved|pending)\b",
    r"\b(?:issues?|questions?|comments?|points?|concerns?) (?:\w+ ){0,3}?(?:been|are|were|is|was) (?:now "
    r"|all )?"
    r"(?:resolved|closed|addressed|settled|fixed)\b",
    r"\b(?:address|resolv|clos|fix)(?:e[sd]|ed|ing) (?:all |the |any |both )",
)
_IFFY = re.compile(r"\b(?:if|unless|whether|once|until|should nobody|would have|might|could)\b")
_NEGATED = re.compile(r"(?:n't|\bnot|\bnever)(?: yet| \w+ly)? (?:\w+ )?$")
_MATTERS = ((Matter.DECISION, _DECISION), (Matter.OPEN_ISSUE, _OPEN_ISSUE), (Matter.PROPOSAL, _PROPOSAL))


def statements(message: ConsensusMessage) -> Iterator[tuple[Matter, Statement]]:
    """What a message states, sentence by sentence; a sentence counts once."""
    for sentence in own_sentences(message.text):
        folded = " ".join(hide_sayings(fold(sentence.text)).split())
        for matter, pattern in _MATTERS:
            match = pattern.search(folded)
            if match and _stands(matter, folded, match):
                yield matter, _statement(message, sentence, match[0])
                break


def _stands(matter: Matter, folded: str, match: re.Match[str]) -> bool:
    if matter is Matter.OPEN_ISSUE:
        return not _SETTLED.search(folded)
    if _NEGATED.search(folded[max(0, match.start() - 30) : match.start() + match[0].rfind(" ") + 1]):
        return False
    return matter is Matter.PROPOSAL or not (is_question(folded) or _IFFY.search(folded))


def _statement(message: ConsensusMessage, sentence: Sentence, cue: str) -> Statement:
    evidence = Evidence(message.key, sentence.start, sentence.end, sentence.text)
    return Statement(evidence, message.sender_email, cue.strip())


def without_repeats(found: Iterable[Statement], limit: int = 50) -> list[Statement]:
    """Each sentence once, the first time it was said."""
    seen: dict[str, Statement] = {}
    for statement in found:
        seen.setdefault(" ".join(fold(statement.evidence.quote).split()), statement)
    return list(seen.values())[:limit]
