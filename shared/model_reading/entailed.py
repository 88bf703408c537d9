"""Checks whether the quotes deny a sentence of the summary or leave it open."""

import re
from collections.abc import Callable, Iterator, Sequence

from shared.model_reading.clauses import (
    ASIDE,
    NEGATIVE,
    SummarySentence,
    clauses,
    speaks_of_all,
    states_as_done,
    turns_comparison,
    turns_negation,
    widens,
)
from shared.model_reading.clauses import NO_DEED as SPEECH
from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.polarity import Polarity, judgment, outright, polarity
from shared.model_reading.words import FUNCTION_WORDS, GENERIC, is_past, stem, stems, words
from shared.reading import cues
from shared.reading.closings import settles_it
from shared.reading.mails import OwnSentence, fold

_TAKES = {
    Polarity.FOR: re.compile(
        r"\b(?:support(?:s|ed)?|favou?r(?:s|ed)?|agree(?:s|d)?|accept(?:s|ed)?|approve[sd]?|endorse[sd]?|"
        r"ack(?:s|ed)|in favou?r|welcome[sd]?|prefer(?:s|red)?|second(?:s|ed)|happy with|recommend(?:s|ed)?|"
        r"(?<!feel )(?<!look )(?<!looks )(?<!would )(?<!thing )(?<!seems )like[sd])\b|\+1"
    ),
    Polarity.AGAINST: re.compile(
        r"\b(?:oppose[sd]?|object(?:s|ed) to|objects|objected|disagree(?:s|d)?|reject(?:s|ed)?|against|"
        r"veto(?:es|ed)?|dissents?|refuse[sd]?|decline[sd]?|dislike[sd]?)\b|(?<!\w)-1\b"
    ),
}
_NOT = re.compile(
    r"(?:n't|\b(?:not|never|no longer|no|nobody|nothing|without|neither|nor|far from|hardly))(?: (?!so\b|"
    r"but\b|and\b)[\w'-]+){0,4} ?$"
)
_OPENS = re.compile(
    r"\b(?:to|whether|asks? (?:who|for)|if|would|may|could|can|might|should|that)\b(?: \w+){0,4} ?$"
)
_TURN = {Polarity.FOR: Polarity.AGAINST, Polarity.AGAINST: Polarity.FOR}
_GROUP = r"(?:group|list|working group|wg|community|team|they|chairs?|participants|maintainers)"
_DECIDES = re.compile(
    r"\b(?:(?:it|this) (?:was|is|has been) (?:decided|agreed|accepted|rejected|adopted|resolved)|"
    rf"decision (?:was|is)|{_GROUP} (?:has |have )?(?:agreed|decided|adopted|accepted|rejected|approved|"
    r"picked|chose)|(?:was|were|is|are|been) (?:agreed|decided|adopted|accepted|rejected|approved|"
    r"turned down|picked|passed|merged|released|committed|closed)|(?:decided|decides) (?:to|that|on|against)|"
    r"(?:rejected|approved|adopted|rejects|approves|adopts)\b)"
)
_DECIDED = re.compile(
    r"\b(?:decided|agreed|adopted|accepted|approved|rejected|cancel\w*|concludes?|passed)\b"
)
_CONSENSUS = re.compile(r"(?<!no )\bconsensus\b(?! calls?\b)")
_EVERYBODY = re.compile(
    r"\b(?:everyone|everybody|nobody|no one|unanimous\w*|all (?:(?:the|of the|of them|\w+) )?(?:participants|"
    r"reviewers|people|members|developers|users|maintainers|chairs|who|others|agree\w*|support\w*|object\w*)|"
    r"the (?:whole|entire) (?:group|list))\b"
)
_WITHDREW = re.compile(
    r"\b(?:withdr[ae]w\w*|retract\w*|takes back|took back|backed down|gave up|gives up)(?: (?:the|his|her|"
    r"their|its|an?|that|this|it|\w+'s)\b(?: (?:\w+ )?(?:objections?|concerns?|vote|proposal|patch|series|"
    r"request|point|veto|idea|-1))?| objections?|\W*$)"
)
_WITHDRAWS = re.compile(
    r"\b(?:withdraw\w*|withdrew|retract\w*|drop\w*|never ?mind|lift\w*|no longer|concede\w*|give up|gave up|"
    r"convinced|fair enough|stand corrected|will not discuss|take (?:it|that) back)\b"
)
_ASKS = re.compile(
    r"\b(?:ask|wonder|question|whether|seek|looking for|what|how|who|why|unclear|open|inquir|rais|suggest|"
    r"propos|doubt|if|call|put|vote|wants? to know|would|could|might|may|perhaps|request|sure|unsure|"
    r"consider|possib)(?:s|ed|es|ing|d|e|ility|le)?\b"
)
_WONDERS = re.compile(r"^\W*(?:\w+ ){0,3}question is\b|^\W*(?:\w+ ){0,2}i(?:'m| am)? wonder\w*\b")
_GUESSES = re.compile(
    r"\b(?:guess|suspect|believe|might|may|perhaps|maybe|probably|presumably|seems?|possibly|likely|i think|"
    r"imagine|not (?:\w+ )?(?:sure|know|certain)|don't know|no idea|i suppose|wonder|hope)\b"
)
_KNOWS = re.compile(
    r"\b(?:establish|confirm|prove|know|verif|demonstrate|guarantee|certain|determine|discover)(?:s|es|ed|d|"
    r"y|ied|ies|n)?\b|\bproof\b"
)
_TERMS = re.compile(
    r"(?<!sure )(?<!know )(?<!see )(?<!ask )\bif\b|\b(?:unless|provid\w+ that|proviso|as long as|assuming|"
    r"until|once|as soon as|only when)\b|^\W*(?:\w+ ){0,2}(?:perhaps|maybe)\b"
)
_HEDGED = re.compile(
    r"\b(?:if|unless|provided|as long as|whether|assuming|until|once|when|perhaps|maybe|might|may|would|"
    r"could|ask(?:s|ed)?|wonder(?:s|ed)?|suggest(?:s|ed)?|propose[sd]?|consider(?:s|ed)?|apparently|"
    r"hope[sd]?|guess\w*|possibl[y]|possibility|proposal|questions?|doubt\w*|for now|then|after|unclear|open|"
    r"condition\w*|likely|probably|plan(?:s|ned)?|though|given|depend\w*|promise[sd]?|willing|suspect\w*|"
    r"presum\w+|recommend\w*|ought)\b"
)
_CERTAIN = re.compile(r"\b(?:will|shall|going to|won't|plans?)\b|'ll\b")
_BUT = re.compile(r"[,;] (?:but|however)\b|\bbut then\b")
_MOTIVE = re.compile(
    r"\b(?:because(?: of)?|in order to|due to|so that|out of|for fear of|since|to (?:save|avoid|prevent|"
    r"silence|keep|protect|please))\b(.+)$"
)
_BARE_CLAIM = 6
_LONG = 40
"""In a sentence of more words, an "if" may govern something else."""


def denied(sentence: SummarySentence) -> str:
    """Return why the quotes deny the sentence, or an empty string if they do not."""
    return _first(_DENIALS, sentence)


def unproven(sentence: SummarySentence) -> str:
    """Return why the sentence says more than its quotes, or an empty string."""
    return _first(_DOUBTS, sentence)


def _first(checks: Sequence[tuple[str, Callable[[SummarySentence], bool]]], sentence: SummarySentence) -> str:
    return next((cause for cause, applies in checks if applies(sentence)), "")


def _claimed_stances(sentence: SummarySentence) -> Iterator[tuple[Polarity, str, list[LocatedQuote]]]:
    """Yield each clause that gives a person a side, with the side and the person's quotes."""
    for clause in clauses(sentence.text):
        folded = fold(clause)
        claimed = _side_in(folded)
        if claimed not in _TURN:
            continue
        people = set().union(*(persons for name, persons in sentence.agents.items() if name in clause))
        yield (
            claimed,
            clause,
            [quote for quote in sentence.quotes if quote.mail.person in people] or list(sentence.quotes),
        )


def _side_in(folded: str) -> Polarity:
    ways = set()
    for towards, pattern in _TAKES.items():
        for match in pattern.finditer(folded):
            before = folded[max(0, match.start() - 40) : match.start()]
            if not _OPENS.search(before):
                ways.add(_TURN[towards] if _NOT.search(before) else towards)
    return Polarity.BOTH if len(ways) > 1 else next(iter(ways), Polarity.OPEN)


def turns_stance(sentence: SummarySentence) -> bool:
    """Return whether the person's quotes take the other side and none takes the given one."""
    for claimed, _, own in _claimed_stances(sentence):
        named_sides = {outright(quote.text) for quote in own}
        sides = {polarity(quote.text) for quote in own}
        contrary = _TURN[claimed]
        if contrary in named_sides and not named_sides & {claimed, Polarity.BOTH}:
            return True
        if contrary in sides and not sides & {claimed, Polarity.BOTH} and claimed not in named_sides:
            return True
    # A wish to remove something may be for the proposal or against it.
    wants = " wants " in sentence.folded and not NEGATIVE.search(sentence.folded)
    return wants and {outright(quoted) for quoted in sentence.quoted} == {Polarity.AGAINST}


def turns_judgment(sentence: SummarySentence) -> bool:
    """Return whether the sentence calls good what the quotes call bad, or the reverse."""
    for clause in clauses(sentence.folded):
        mine, own = judgment(clause), stems(clause) - FUNCTION_WORDS
        quoted_parts = [
            (own & stems(part) - FUNCTION_WORDS, part)
            for quoted in sentence.quoted
            for part in clauses(quoted)
        ]
        shared, closest = max(quoted_parts, key=lambda pair: len(pair[0]))
        if shared and mine in _TURN and judgment(closest) is _TURN[mine]:
            return True
    return False


def _stance_unsaid(sentence: SummarySentence) -> bool:
    return any(
        not {polarity(quote.text, _LONG) for quote in own} & {claimed, Polarity.BOTH}
        for claimed, _, own in _claimed_stances(sentence)
    )


def _names_no_stance(sentence: SummarySentence) -> bool:
    """Return whether a bare claim such as "Ann supports it" has no quote that names the stance."""
    return len(sentence.text.split()) <= _BARE_CLAIM and any(
        all(outright(quote.text) is not claimed for quote in own)
        for claimed, _, own in _claimed_stances(sentence)
    )


def _speaks_for_everybody(sentence: SummarySentence) -> bool:
    return bool(_EVERYBODY.search(sentence.folded) and not _EVERYBODY.search(sentence.cited))


def _withdraws_unseen(sentence: SummarySentence) -> bool:
    return bool(_WITHDREW.search(sentence.folded) and not _WITHDRAWS.search(sentence.cited))


def _claims_consensus(sentence: SummarySentence) -> bool:
    if not _CONSENSUS.search(sentence.folded) or _ASKS.search(sentence.folded):
        return False
    return not any(
        not re.search(
            r"\b(?:no|not|some|if|whether|establish\w*|any|more|need\w*|was)\b|n't",
            sentence.cited[: match.start()][-40:],
        )
        for match in re.finditer(r"\bconsensus\b|\bagree\w*", sentence.cited)
    )


def _decides_unseen(sentence: SummarySentence) -> bool:
    """Return whether the sentence states a decision and no quoted sentence settles anything."""
    folded = sentence.folded
    tells = not _HEDGED.search(folded) and any(
        not _NOT.search(folded[max(0, match.start() - 40) : match.start()])
        and "nothing" not in folded
        and match[0] not in sentence.cited
        for match in _DECIDES.finditer(folded)
    )
    return tells and not any(_settles(quoted) for quote in sentence.quotes for quoted in quote.sentences)


def _settles(sentence: OwnSentence) -> bool:
    if sentence.asks:
        return False
    return (
        settles_it(sentence)
        or cues.ACCEPTS.finds(sentence)
        or cues.REJECTS.finds(sentence)
        or cues.may_close(sentence)
        or bool(_DECIDED.search(sentence.folded))
    )


def _states_a_question(sentence: SummarySentence) -> bool:
    """Return whether the sentence states what the quotes only ask or wonder."""
    only_asks = all(
        quoted.rstrip("\"') ").endswith("?") or _WONDERS.search(quoted) for quoted in sentence.quoted
    )
    return only_asks and not (_ASKS.search(sentence.folded) or sentence.folded.endswith("?"))


def _knows_a_guess(sentence: SummarySentence) -> bool:
    return (
        bool(_KNOWS.search(sentence.folded)) and not _NOT.search(sentence.folded) and _only_guesses(sentence)
    )


def _only_guesses(sentence: SummarySentence) -> bool:
    return all(_GUESSES.search(quoted) for quoted in sentence.quoted) and not _KNOWS.search(sentence.cited)


def _drops_condition(sentence: SummarySentence) -> bool:
    on_terms = all(
        _TERMS.search(plain := ASIDE.sub("", quoted))
        and (len(plain.split()) <= _LONG or plain.startswith("if "))
        for quoted in sentence.quoted
    )
    return on_terms and not _HEDGED.search(sentence.folded)


def _states_act(sentence: SummarySentence) -> bool:
    """Return whether the sentence states the future, or a deed that the quotes name."""
    cited = stems(sentence.cited)
    return "will " in sentence.folded or any(
        is_past(word) and stem(word) in cited and stem(word) not in SPEECH for word in words(sentence.folded)
    )


def _drops_reservation(sentence: SummarySentence) -> bool:
    """Return whether the quotes continue with a "but" that the sentence leaves out."""
    if (
        re.search(r"\b(?:but|however|though|although|while|with|apart|except)\b", sentence.folded)
        or len(sentence.quotes) > 1
    ):
        return False
    match = _BUT.search(sentence.cited)
    if match is None:
        return False
    mine = stems(sentence.folded) - GENERIC
    after, before = (
        stems(part) - GENERIC for part in (sentence.cited[match.end() :], sentence.cited[: match.start()])
    )
    return bool(mine & before or not mine) and not mine & (after - before)


def _is_too_certain(sentence: SummarySentence) -> bool:
    return bool(re.search(r"\bwill\b", sentence.folded)) and not _CERTAIN.search(sentence.cited)


def _reasons_unseen(sentence: SummarySentence, least: float) -> bool:
    """Return whether the sentence gives a reason whose words are not near the quotes."""
    match = _MOTIVE.search(sentence.folded)
    if match is None:
        return False
    nearby = set().union(*(stems(around(quote)) for quote in sentence.quotes))
    reason = stems(match[1]) - GENERIC or stems(match[1]) - FUNCTION_WORDS
    return bool(reason) and sum(word in nearby for word in reason) <= least * len(reason)


def around(quote: LocatedQuote) -> str:
    """Return the quoted sentences with their neighbors and the end of the quote above them."""
    own, first, last = quote.mail.sentences, quote.sentences[0].index, quote.sentences[-1].index
    parts = [quote.text, *(sentence.text for sentence in own[max(0, first - 1) : last + 2])]
    if (block := quote.sentences[0].block) >= 0:
        parts.append(quote.mail.mail.quotes[block].text[-600:])
    return " ".join(parts)


_DENIALS: tuple[tuple[str, Callable[[SummarySentence], bool]], ...] = (
    ("it speaks of everybody or nobody, and nothing cited does", _speaks_for_everybody),
    ("it says that something is withdrawn, and nothing cited does", _withdraws_unseen),
    ("it speaks of consensus, and nothing cited affirms it", _claims_consensus),
    ("it turns a stance around", turns_stance),
    ("it states a stance that nothing cited names", _names_no_stance),
    ("it turns a judgment around", turns_judgment),
    ("it states a decision, and nothing cited decides", _decides_unseen),
    ("a question is stated as a fact", _states_a_question),
    ('a "not" was lost or added', turns_negation),
    ("a guess is stated as known", _knows_a_guess),
    ("it turns a comparison around", turns_comparison),
    ("a possibility is stated as certain", _is_too_certain),
    ("a condition was left out", lambda sentence: _drops_condition(sentence) and _states_act(sentence)),
    ("it gives a reason that nothing cited gives", lambda sentence: _reasons_unseen(sentence, 0.0)),
)
_DOUBTS: tuple[tuple[str, Callable[[SummarySentence], bool]], ...] = (
    ("it speaks of all, and its quotes of a part", widens),
    ("an announcement, request or wish is stated as done", states_as_done),
    ("it states a stance that nothing cited states", _stance_unsaid),
    ("a condition was left out", _drops_condition),
    ("a reservation was left out", _drops_reservation),
    ("it speaks of all, and nothing cited does", speaks_of_all),
    ("it gives a reason that nothing cited gives", lambda sentence: _reasons_unseen(sentence, 0.5)),
)
