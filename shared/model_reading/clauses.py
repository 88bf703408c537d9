"""A model's sentence and the words that it cites: agents, negations, deeds and comparisons."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.words import SMALL, TELLING, is_past, stem, words
from shared.reading import cues
from shared.reading.mails import fold

_CLAUSE = re.compile(
    r"[;:]|, (?:and|but|while|which|who|whereas|although|though|so|as|because)\b|\b(?:while|whereas|but)\b"
)
_PART = re.compile(r"[;:.!?]|, (?:but|however|and|as|since|because|while|so)\b|\bbut\b")
_VERB = (
    r"(?:also |then |first |still |now |later |only |already |even |both |(?:\w+ly) |quite |rather |"
    r"again )*(?:(?:does|did|do|is|was|are|were|has|have|had|will|would|can|could|may|might|must|"
    r"should)(?:n't)?\b|(?!and\b|or\b|in\b|of\b|for\b|to\b|with\b|at\b|on\b|by\b|as\b|'s\b)\w+(?:s|ed|d|ew|"
    r"ade|aid|ook|ave|ut|ent|oke|ound)\b|think\b|say\b|want\b|agree\b|support\b|object\b|oppose\b)"
)
ASIDE = re.compile(r"\([^()]{0,80}\)")
_ADDRESS = re.compile(r"\bor not\b|\bnot only\b|\bhttps?://\S+|\bwww\.\S+|\S+@\S+")
_NEGATIONS = frozenset(("not", "never", "cannot", "hardly"))
"""Those of verbs: "no" and "without" deny that there is something, and are told in many ways."""
_FAR = re.compile(r"\b(?:far from|no longer|instead of|rather than|fail(?:s|ed)? to|neither|nor)\b")
NEGATIVE = re.compile(
    r"n't\b|\b(?:not?|never|none|nobody|nothing|without|cannot|nor|neither|hardly|unless|rather|instead|"
    r"out of|(?:lack|fail|refus|declin|reject|doubt|disagree|oppos|object|drop|remov|avoid|prevent|stop|miss|"
    r"beyond|against|away|only|except|but|wrong|unable|deny|denie|disput)\w*|un(?!der|til|i)[a-z]{4,}|"
    r"in(?:accura|correct|complet|compat|valid|secur|consist|differ|appropria|suffic)\w+|dis(?:agree|like|"
    r"card|abl|miss)\w+)\b"
)
_ELLIPSIS = re.compile(
    r"\b(?:does|do|did|is|are|was|were|will|has|have)(?: not|n't)[.,;!)]|\b(?:did|does)[.,;!)]"
)
_LIGHT_WORDS = (
    "seem appear think believe expect look like want try really super very entirely quite particularly fully "
    "necessarily easily actually currently strictly simply longer sure aware able going"
)
_LIGHT = frozenset(map(stem, _LIGHT_WORDS.split()))
"""Stems of words through which a negation reaches the next: "does not seem to work"."""
_AHEAD = re.compile(
    r"(?:'ll|'d|\b(?:to|will|would|should|shall|can|could|may|might|must|let's|let me|please|if|whether|when|"
    r"once|until|before|propose|suggest|about|without|plan(?:s|ning)? on|working on|thought of|"
    r"think of))(?: (?!been\b)[\w'-]+){0,3} ?$"
)
_STARTED = re.compile(r"\b(?:be|am|is|are|i'm|we're|working on|start\w*|keep|by|of|for|on)(?: \w+ly)? ?$")
_TOLD_AHEAD = re.compile(
    r"(?:\b(?:to|will|would|should|can|could|may|might|must|if|not|never|or|gets?|getting|"
    r"whether)(?: [\w'-]+){0,3}|\b(?:be|being|when|once|until|the|an?|more|as|well|so|of|how|that is)) ?$"
)
NO_DEED = TELLING - set(map(stem, ("get", "make", "put", "add", "change", "write")))
_TAKING = frozenset(map(stem, ("queue", "accept", "apply", "take", "pick")))
"""Who says that they will do so has taken it."""
_IS_OUTCOME = re.compile(
    r"(?:is|are)(?: now| already)? (?!(?:merg|accept|adopt|fix|releas|appl|queu|clos|approv|reject|resolv|"
    r"remov|publish|drop|updat|mov|decid|agree|chang|add|assign|commit)\w*)\w+$"
)
"""A verb in the present passive that is no outcome: "is typed", "are sent"."""
_TELLS_WISH = re.compile(
    r"\b(?:ask|propos|suggest|recommend|request|want|plan|promis|intend|hop|prefer|offer|wish|expect|"
    r"consider|agree)(?:s|es|ed|d|ing)?\b|\bwhether\b"
)
_PASSIVE = re.compile(r"\b(?:was|were|has been|have been|are now|is now) (?:\w+ly )?\w+(?:ed|en)\b")
_PROSPECT = re.compile(
    r"'ll\b|\b(?:will|would|should|could|may|might|if|let's|please|recommend|suggest|propose)\b|\?\W*$"
)
_MODAL = re.compile(r"'ll\b|\b(?:will|would|should|can|could|may|might|to|please|let's)\b")
_PERFORMS = re.compile(r"\b(?:this is|wanted|have|like|let me|please find \w+) (?:to )?$|\bmay i $")
"""Words with which a mail does what it says: "this is to start a call"."""
_HYPOTHETICAL = re.compile(r"\b(?:if|whether|unless|once|until)\b[^,;]*$")
_IS_DONE = re.compile(
    r"\b(?:it is|it's|is now|both|all|already) (?:done|fixed|merged|submitted)\b|^\W{0,3}(?:thanks,? )?done\b"
)
_WILL_NOT = re.compile(r"\bwill not\b(?! only)|\bwon't\b")
_THAN = re.compile(r"\b(?:than|preferable to|rather than|instead of|as \w+ as)\b")
_CHOOSES = re.compile(r"\b(?:prefer\w*|rather|instead)\b")
_PREFERS = re.compile(r"\bprefer(?:s|red)? (.{2,90}?) (?:to|over|than) (.{2,90})")
_COMPARES = re.compile(r"\b(?:as \w+ as|\w+er|more|less|better|worse|fewer|rather|instead|preferable)\b")
_ALL = re.compile(r"\b(?:all|every|any|always|never|none|whole|entire|consistently)\b")
_NOT_ALL = re.compile(r"(?:\bnot|n't) (?:\w+ )?(?:all|always|every)\b")
_PARTLY = re.compile(
    r"\b(?:some(?:times)?|at least|this one|one of|single|most|few|several|part of|only|often|usually|"
    r"except\w*|certain|not (?:all|always|every))\b"
)


def clauses(text: str) -> list[str]:
    return [clause.strip() for clause in _CLAUSE.split(text) if clause.strip()]


def is_agent(name: str, text: str) -> bool:
    """Whether the person does something in the sentence."""
    others = r"(?:,? (?:and )?[A-Z][\w.' -]{1,40}?)*"
    return bool(re.search(rf"(?<!\w){re.escape(name)}{others},? {_VERB}", text))


@dataclass(frozen=True)
class Told:
    """What is told, in which cited words it is looked for, and who acts in it."""

    text: str
    found: tuple[LocatedQuote, ...]
    agents: Mapping[str, set[str]]

    @cached_property
    def folded(self) -> str:
        return fold(self.text)

    @cached_property
    def cited(self) -> str:
        return fold(" ".join(quote.text for quote in self.found))

    @cached_property
    def sentences(self) -> list[str]:
        return [fold(one.text) for quote in self.found for one in quote.sentences]


def turns_negation(told: Told) -> bool:
    """A word that the cited clause denies and the sentence does not, or the other way round.

    Each clause is held against the cited clause that has most of its words. Where both have a negative word
    of any kind, the same may be said in other words.
    """
    if _turns_will(told):
        return True
    if any(map(_ELLIPSIS.search, told.sentences)):
        return False  # "the one passes, the other does not": what is denied stands elsewhere
    stated = [one for one in told.sentences if not one.endswith("?") or told.folded.endswith("?")]
    said = [(governed(part), part) for one in stated for part in _PART.split(one) if part.strip()]
    said = [(denied, part) for denied, part in said if denied]
    for part in _PART.split(told.folded):
        mine = governed(part)
        if not mine or not said:
            continue
        best, words_ = max(said, key=lambda one: (len(one[0].keys() & mine.keys()), -len(one[0])))
        shared = best.keys() & mine.keys()
        is_same = len(shared) * 2 >= min(len(best), len(mine)) and len(shared) > 0
        turned = [word for word in shared if best[word] is not mine[word]]
        if is_same and turned and not (NEGATIVE.search(part) and NEGATIVE.search(words_)):
            return True
    return False


def _turns_will(told: Told) -> bool:
    """What will not be is told to be."""
    will = [one for one in told.sentences if re.search(r"\bwill\b|\bwon't\b|'ll\b", one)]
    return bool(
        re.search(r"\bwill (?!not\b)", told.folded)
        and not NEGATIVE.search(told.folded.partition(" will ")[2][:40])
        and will
        and all(map(_WILL_NOT.search, will))
    )


def governed(folded: str) -> dict[str, bool]:
    """Of each telling word whether a negation governs it; a word that stands both ways is left out."""
    found: dict[str, set[bool]] = {}
    plain = _FAR.sub("not", _ADDRESS.sub(" ", folded))
    negated = False
    for sign in re.findall(r"[\w']+|[,.;:!?()]", plain):
        root = stem(sign)
        if sign in ",.;:!?()":
            negated = False
        elif sign in _NEGATIONS or sign.endswith("n't"):
            negated = not negated
        elif root not in SMALL and sign[0].isalpha() and len(root) > 1:
            found.setdefault(root, set()).add(negated)
            # It governs the first word after it that tells anything.
            negated = negated and root in _LIGHT
    return {word: next(iter(ways)) for word, ways in found.items() if len(ways) == 1}


def tells_as_done(told: Told) -> bool:
    """A deed in the past, of which the cited words only say that it will, should or may be."""
    if _IS_DONE.search(told.cited):
        return False
    takes = any(cues.ACCEPTS.finds(one) and not one.asks for quote in told.found for one in quote.sentences)
    no_deed = NO_DEED | _TAKING if takes else NO_DEED
    for clause in clauses(told.folded):
        for match in () if _TELLS_WISH.search(clause) else re.finditer(r"[a-z]+", clause):
            if (
                not is_past(match[0])
                or stem(match[0]) in no_deed
                or _IS_OUTCOME.search(clause[: match.end()])
            ):
                continue
            if not _TOLD_AHEAD.search(clause[: match.start()]):
                forms = list(_forms(stem(match[0]), told.sentences))
                if forms and all(_is_ahead(word, before) for word, before in forms):
                    return True
        if _PASSIVE.search(clause) and all(map(_only_looks_ahead, told.sentences)):
            return not _TELLS_WISH.search(clause)
    return False


def _only_looks_ahead(sentence: str) -> bool:
    return bool(_PROSPECT.search(sentence)) and not any(map(is_past, words(sentence)))


def _forms(wanted: str, sentences: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each form of a word in the cited words, with what stands before it in its clause."""
    for sentence in sentences:
        for match in re.finditer(r"[a-z]+", sentence):
            if stem(match[0]) == wanted:
                before = ASIDE.sub("", sentence[: match.start()])
                yield match[0], re.split(r"[,.;:()!?]|\bbut\b", before)[-1]


def _is_ahead(word: str, before: str) -> bool:
    """Whether a verb in this place says no more than that it is wished, planned, begun or possible."""
    if _PERFORMS.search(before):
        return False
    if is_past(word):
        is_passive = re.search(r"\b(?:be|get|gets|getting|been) ?$", before)
        return bool((is_passive and _AHEAD.search(before[:-3])) or _HYPOTHETICAL.search(before))
    if word.endswith("ing"):
        return bool(_AHEAD.search(before) or _STARTED.search(before))
    goes_on = re.search(r"\b(?:and|or|then) ?$", before) and _MODAL.search(before)
    return bool(_AHEAD.search(before) or goes_on or not before.strip())


def widens(told: Told) -> bool:
    """It speaks of all, and what it cites of a part."""
    return bool(_PARTLY.search(told.cited)) and speaks_of_all(told)


def speaks_of_all(told: Told) -> bool:
    """It speaks of all, and nothing cited does."""
    said, mine = (
        {match[0] for match in _ALL.finditer(_NOT_ALL.sub("", text))} for text in (told.cited, told.folded)
    )
    return bool(mine - said)


def turns_comparison(told: Told) -> bool:
    """What is put above the other is below it in the cited words, or only the other is wanted there."""
    mine = _compared(told.folded)
    if mine is None:
        return False
    above, below = set(mine[0]) - set(mine[1]), set(mine[1]) - set(mine[0])
    only_below = []
    for sentence in told.sentences:
        theirs = _compared(sentence)
        if theirs is None:
            shown = _telling(sentence)
            only_below.append(bool(below.intersection(shown)) and not above.intersection(shown))
            continue
        if sorted(mine[1]) == sorted(theirs[1]) and mine[1] != theirs[1]:
            return True  # "white on black" for "black on white"
        across = (above & set(theirs[1]) - set(theirs[0]), below & set(theirs[0]) - set(theirs[1]))
        along = (above & set(theirs[0])) | (below & set(theirs[1]))
        if all(across) or (any(across) and not along):
            return True
        only_below.append(False)
    return bool(only_below) and all(only_below) and bool(_CHOOSES.search(told.folded))


def _compared(folded: str) -> tuple[list[str], list[str]] | None:
    """The words on both sides of a comparison."""
    match = _PREFERS.search(folded)
    if match is not None:
        return _telling(match[1]), _telling(match[2])
    match = _THAN.search(folded)
    if match is None or not _COMPARES.search(folded):
        return None
    return _telling(folded[max(0, match.start() - 100) : match.start()]), _telling(folded[match.end() :][:60])


def _telling(text: str) -> list[str]:
    return [stem(word) for word in words(_COMPARES.sub(" ", text)) if stem(word) not in SMALL]
