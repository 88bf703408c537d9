"""Compares a model's sentence with its quotes: agents, negations, deeds and comparisons."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.words import FUNCTION_WORDS, GENERIC, is_past, stem, words
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
"""Negations of verbs. "No" and "without" deny existence, which many words can express."""
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
"""Stems through which a negation reaches the next word: "does not seem to work"."""
_FUTURE = re.compile(
    r"(?:'ll|'d|\b(?:to|will|would|should|shall|can|could|may|might|must|let's|let me|please|if|whether|when|"
    r"once|until|before|propose|suggest|about|without|plan(?:s|ning)? on|working on|thought of|"
    r"think of))(?: (?!been\b)[\w'-]+){0,3} ?$"
)
_STARTED = re.compile(r"\b(?:be|am|is|are|i'm|we're|working on|start\w*|keep|by|of|for|on)(?: \w+ly)? ?$")
_NOT_A_DEED = re.compile(
    r"(?:\b(?:to|will|would|should|can|could|may|might|must|if|not|never|or|gets?|getting|"
    r"whether)(?: [\w'-]+){0,3}|\b(?:be|being|when|once|until|the|an?|more|as|well|so|of|how|that is)) ?$"
)
NO_DEED = GENERIC - set(map(stem, ("get", "make", "put", "add", "change", "write")))
_TAKING = frozenset(map(stem, ("queue", "accept", "apply", "take", "pick")))
"""A writer who says that they will do one of these has accepted it."""
_IS_OUTCOME = re.compile(
    r"(?:is|are)(?: now| already)? (?!(?:merg|accept|adopt|fix|releas|appl|queu|clos|approv|reject|resolv|"
    r"remov|publish|drop|updat|mov|decid|agree|chang|add|assign|commit)\w*)\w+$"
)
"""A verb in the present passive that is no outcome: "is typed", "are sent"."""
_MENTIONS_WISH = re.compile(
    r"\b(?:ask|propos|suggest|recommend|request|want|plan|promis|intend|hop|prefer|offer|wish|expect|"
    r"consider|agree)(?:s|es|ed|d|ing)?\b|\bwhether\b"
)
_PASSIVE = re.compile(r"\b(?:was|were|has been|have been|are now|is now) (?:\w+ly )?\w+(?:ed|en)\b")
_PROSPECT = re.compile(
    r"'ll\b|\b(?:will|would|should|could|may|might|if|let's|please|recommend|suggest|propose)\b|\?\W*$"
)
_MODAL = re.compile(r"'ll\b|\b(?:will|would|should|can|could|may|might|to|please|let's)\b")
_PERFORMS = re.compile(r"\b(?:this is|wanted|have|like|let me|please find \w+) (?:to )?$|\bmay i $")
"""Words by which a mail does what it says: "this is to start a call"."""
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
    """Return whether the person does something in the sentence."""
    others = r"(?:,? (?:and )?[A-Z][\w.' -]{1,40}?)*"
    return bool(re.search(rf"(?<!\w){re.escape(name)}{others},? {_VERB}", text))


@dataclass(frozen=True)
class SummarySentence:
    """A sentence of the model's summary, its quotes, and the people who act in it."""

    text: str
    quotes: tuple[LocatedQuote, ...]
    agents: Mapping[str, set[str]]

    @cached_property
    def folded(self) -> str:
        return fold(self.text)

    @cached_property
    def cited(self) -> str:
        return fold(" ".join(quote.text for quote in self.quotes))

    @cached_property
    def quoted(self) -> list[str]:
        return [fold(sentence.text) for quote in self.quotes for sentence in quote.sentences]


def turns_negation(sentence: SummarySentence) -> bool:
    """Return whether a word is denied in the quotes or in the sentence, but not in both.

    Each clause is compared with the quoted clause that shares most of its words. If both have a negative word
    of any kind, they may say the same in other words, unless the words are the same.
    """
    if _turns_will(sentence):
        return True
    if any(map(_ELLIPSIS.search, sentence.quoted)):
        return False  # "the one passes, the other does not": the denied word is not in the sentence
    statements = [
        quoted for quoted in sentence.quoted if not quoted.endswith("?") or sentence.folded.endswith("?")
    ]
    denials = [
        (governed(part), part) for statement in statements for part in _PART.split(statement) if part.strip()
    ]
    denials = [(denied, part) for denied, part in denials if denied]
    for part in _PART.split(sentence.folded):
        mine = governed(part)
        if not mine or not denials:
            continue
        best, quoted_part = max(denials, key=lambda pair: (len(pair[0].keys() & mine.keys()), -len(pair[0])))
        shared = best.keys() & mine.keys()
        is_same = len(shared) * 2 >= min(len(best), len(mine)) and len(shared) > 0
        turned = [word for word in shared if best[word] is not mine[word]]
        is_verbatim = best.keys() == mine.keys()
        has_negatives = bool(NEGATIVE.search(part) and NEGATIVE.search(quoted_part))
        if is_same and turned and (is_verbatim or not has_negatives):
            return True
    return False


def _turns_will(sentence: SummarySentence) -> bool:
    """Return whether the sentence announces something that the quotes say will not be."""
    will = [quoted for quoted in sentence.quoted if re.search(r"\bwill\b|\bwon't\b|'ll\b", quoted)]
    return bool(
        re.search(r"\bwill (?!not\b)", sentence.folded)
        and not NEGATIVE.search(sentence.folded.partition(" will ")[2][:40])
        and will
        and all(map(_WILL_NOT.search, will))
    )


def governed(folded: str) -> dict[str, bool]:
    """Return for each content word whether a negation governs it, without words that occur both ways."""
    found: dict[str, set[bool]] = {}
    plain = _FAR.sub("not", _ADDRESS.sub(" ", folded))
    negated = False
    for symbol in re.findall(r"[\w']+|[,.;:!?()]", plain):
        root = stem(symbol)
        if symbol in ",.;:!?()":
            negated = False
        elif symbol in _NEGATIONS or symbol.endswith("n't"):
            negated = not negated
        elif root not in FUNCTION_WORDS and symbol[0].isalpha() and len(root) > 1:
            found.setdefault(root, set()).add(negated)
            # A negation governs the first content word after it.
            negated = negated and root in _LIGHT
    return {word: next(iter(ways)) for word, ways in found.items() if len(ways) == 1}


def states_as_done(sentence: SummarySentence) -> bool:
    """Return whether the sentence reports a past deed that the quotes only plan, wish or allow."""
    if _IS_DONE.search(sentence.cited):
        return False
    takes = any(
        cues.ACCEPTS.finds(quoted) and not quoted.asks
        for quote in sentence.quotes
        for quoted in quote.sentences
    )
    no_deed = NO_DEED | _TAKING if takes else NO_DEED
    for clause in clauses(sentence.folded):
        for match in () if _MENTIONS_WISH.search(clause) else re.finditer(r"[a-z]+", clause):
            if (
                not is_past(match[0])
                or stem(match[0]) in no_deed
                or _IS_OUTCOME.search(clause[: match.end()])
            ):
                continue
            if not _NOT_A_DEED.search(clause[: match.start()]):
                forms = list(_forms(stem(match[0]), sentence.quoted))
                if forms and all(_is_ahead(word, before) for word, before in forms):
                    return True
        if _PASSIVE.search(clause) and all(map(_only_looks_ahead, sentence.quoted)):
            return not _MENTIONS_WISH.search(clause)
    return False


def _only_looks_ahead(sentence: str) -> bool:
    return bool(_PROSPECT.search(sentence)) and not any(map(is_past, words(sentence)))


def _forms(root: str, sentences: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each form of a word in the quotes, with the words before it in its clause."""
    for sentence in sentences:
        for match in re.finditer(r"[a-z]+", sentence):
            if stem(match[0]) == root:
                before = ASIDE.sub("", sentence[: match.start()])
                yield match[0], re.split(r"[,.;:()!?]|\bbut\b", before)[-1]


def _is_ahead(word: str, before: str) -> bool:
    """Return whether a verb in this place is only wished, planned, begun or possible."""
    if _PERFORMS.search(before):
        return False
    if is_past(word):
        is_passive = re.search(r"\b(?:be|get|gets|getting|been) ?$", before)
        return bool((is_passive and _FUTURE.search(before[:-3])) or _HYPOTHETICAL.search(before))
    if word.endswith("ing"):
        return bool(_FUTURE.search(before) or _STARTED.search(before))
    goes_on = re.search(r"\b(?:and|or|then) ?$", before) and _MODAL.search(before)
    return bool(_FUTURE.search(before) or goes_on or not before.strip())


def widens(sentence: SummarySentence) -> bool:
    """Return whether the sentence speaks of all and the quotes only of a part."""
    return bool(_PARTLY.search(sentence.cited)) and speaks_of_all(sentence)


def speaks_of_all(sentence: SummarySentence) -> bool:
    """Return whether the sentence has a word such as "all" that the quotes do not have."""
    quoted, mine = (
        {match[0] for match in _ALL.finditer(_NOT_ALL.sub("", text))}
        for text in (sentence.cited, sentence.folded)
    )
    return bool(mine - quoted)


def turns_comparison(sentence: SummarySentence) -> bool:
    """Return whether the sentence reverses a comparison, or prefers something to the only thing quoted."""
    mine = _compared(sentence.folded)
    if mine is None:
        return False
    above, below = set(mine[0]) - set(mine[1]), set(mine[1]) - set(mine[0])
    only_below = []
    for quoted in sentence.quoted:
        theirs = _compared(quoted)
        if theirs is None:
            present = _content_words(quoted)
            only_below.append(bool(below.intersection(present)) and not above.intersection(present))
            continue
        if sorted(mine[1]) == sorted(theirs[1]) and mine[1] != theirs[1]:
            return True  # "white on black" for "black on white"
        across = (above & set(theirs[1]) - set(theirs[0]), below & set(theirs[0]) - set(theirs[1]))
        along = (above & set(theirs[0])) | (below & set(theirs[1]))
        if all(across) or (any(across) and not along):
            return True
        only_below.append(False)
    return bool(only_below) and all(only_below) and bool(_CHOOSES.search(sentence.folded))


def _compared(folded: str) -> tuple[list[str], list[str]] | None:
    """Return the content words on both sides of a comparison."""
    match = _PREFERS.search(folded)
    if match is not None:
        return _content_words(match[1]), _content_words(match[2])
    match = _THAN.search(folded)
    if match is None or not _COMPARES.search(folded):
        return None
    return _content_words(folded[max(0, match.start() - 100) : match.start()]), _content_words(
        folded[match.end() :][:60]
    )


def _content_words(text: str) -> list[str]:
    return [stem(word) for word in words(_COMPARES.sub(" ", text)) if stem(word) not in FUNCTION_WORDS]
