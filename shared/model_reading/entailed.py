"""Whether the cited words deny what a sentence tells, or leave it open."""

import re
from collections.abc import Callable, Iterator, Sequence

from shared.model_reading.clauses import (
    ASIDE,
    NEGATIVE,
    Told,
    clauses,
    speaks_of_all,
    tells_as_done,
    turns_comparison,
    turns_negation,
    widens,
)
from shared.model_reading.clauses import (
    NO_DEED as SPEECH,
)
from shared.model_reading.evidence import LocatedQuote
from shared.model_reading.polarity import Polarity, judgment, outright, polarity
from shared.model_reading.words import SMALL, TELLING, is_past, stem, stems, words
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
    rf"\b(?:(?:it|this) (?:was|is|has been) (?:decided|agreed|accepted|rejected|adopted|resolved)|"
    rf"decision (?:was|is)|{_GROUP} (?:has |have )?(?:agreed|decided|adopted|accepted|rejected|approved|"
    rf"picked|chose)|"
    r"(?:was|were|is|are|been) (?:agreed|decided|adopted|accepted|rejected|approved|turned down|picked|"
    r"passed|merged|released|committed|closed)|(?:decided|decides) (?:to|that|on|against)|(?:rejected|"
    r"approved|adopted|rejects|approves|adopts)\b)"
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
    r"propos|"
    r"doubt|if|call|put|vote|wants? to know|would|could|might|may|perhaps|request|sure|unsure|consider|"
    r"possib)"
    r"(?:s|ed|es|ing|d|e|ility|le)?\b"
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
"""Words of a sentence in which an "if" may be of something else."""


def denied(told: Told) -> str:
    """Why the cited words deny what the sentence says; empty where they do not."""
    return _first(_DENIALS, told)


def unproven(told: Told) -> str:
    """Why the sentence says more than the cited words, where they do not deny it."""
    return _first(_DOUBTS, told)


def _first(checks: Sequence[tuple[str, Callable[[Told], bool]]], told: Told) -> str:
    return next((why for why, applies in checks if applies(told)), "")


def _stances_told(told: Told) -> Iterator[tuple[Polarity, str, list[LocatedQuote]]]:
    """Each clause that gives a person a side, the side, and that person's cited words."""
    for clause in clauses(told.text):
        folded = fold(clause)
        claimed = _taken(folded)
        if claimed not in _TURN:
            continue
        people = set().union(*(persons for name, persons in told.agents.items() if name in clause))
        yield (
            claimed,
            clause,
            [quote for quote in told.found if quote.mail.person in people] or list(told.found),
        )


def _taken(folded: str) -> Polarity:
    """The side that a clause gives a person."""
    ways = set()
    for towards, pattern in _TAKES.items():
        for match in pattern.finditer(folded):
            before = folded[max(0, match.start() - 40) : match.start()]
            if not _OPENS.search(before):
                ways.add(_TURN[towards] if _NOT.search(before) else towards)
    return Polarity.BOTH if len(ways) > 1 else next(iter(ways), Polarity.OPEN)


def turns_stance(told: Told) -> bool:
    """The words of the person named take the other side, and none takes this one."""
    for claimed, _, own in _stances_told(told):
        named = {outright(quote.text) for quote in own}
        ways = {polarity(quote.text) for quote in own}
        contrary = _TURN[claimed]
        if contrary in named and not named & {claimed, Polarity.BOTH}:
            return True
        if contrary in ways and not ways & {claimed, Polarity.BOTH} and claimed not in named:
            return True
    # The wish to remove something may be for the proposition or against it.
    wants = " wants " in told.folded and not NEGATIVE.search(told.folded)
    return wants and {outright(one) for one in told.sentences} == {Polarity.AGAINST}


def turns_judgment(told: Told) -> bool:
    """What it calls good the cited words call bad, of the same thing."""
    for clause in clauses(told.folded):
        mine, own = judgment(clause), stems(clause) - SMALL
        said = [(own & stems(part) - SMALL, part) for one in told.sentences for part in clauses(one)]
        shared, closest = max(said, key=lambda one: len(one[0]))
        if shared and mine in _TURN and judgment(closest) is _TURN[mine]:
            return True
    return False


def _stance_unsaid(told: Told) -> bool:
    return any(
        not {polarity(quote.text, _LONG) for quote in own} & {claimed, Polarity.BOTH}
        for claimed, _, own in _stances_told(told)
    )


def _names_no_stance(told: Told) -> bool:
    """Nothing is in it but a name and a stance, as in "Ann supports it", and no cited word names one."""
    return len(told.text.split()) <= _BARE_CLAIM and any(
        all(outright(quote.text) is not claimed for quote in own) for claimed, _, own in _stances_told(told)
    )


def _speaks_for_everybody(told: Told) -> bool:
    return bool(_EVERYBODY.search(told.folded) and not _EVERYBODY.search(told.cited))


def _withdraws_unseen(told: Told) -> bool:
    return bool(_WITHDREW.search(told.folded) and not _WITHDRAWS.search(told.cited))


def _claims_consensus(told: Told) -> bool:
    if not _CONSENSUS.search(told.folded) or _ASKS.search(told.folded):
        return False
    return not any(
        not re.search(
            r"\b(?:no|not|some|if|whether|establish\w*|any|more|need\w*|was)\b|n't",
            told.cited[: match.start()][-40:],
        )
        for match in re.finditer(r"\bconsensus\b|\bagree\w*", told.cited)
    )


def _decides_unseen(told: Told) -> bool:
    """It tells a decision, without a denial or a question, and no cited sentence settles anything."""
    folded = told.folded
    tells = not _HEDGED.search(folded) and any(
        not _NOT.search(folded[max(0, match.start() - 40) : match.start()])
        and "nothing" not in folded
        and match[0] not in told.cited
        for match in _DECIDES.finditer(folded)
    )
    return tells and not any(_settles(one) for quote in told.found for one in quote.sentences)


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


def _states_a_question(told: Told) -> bool:
    """What only asks, or wonders, is told as a statement."""
    only_asks = all(one.rstrip("\"') ").endswith("?") or _WONDERS.search(one) for one in told.sentences)
    return only_asks and not (_ASKS.search(told.folded) or told.folded.endswith("?"))


def _knows_a_guess(told: Told) -> bool:
    return bool(_KNOWS.search(told.folded)) and not _NOT.search(told.folded) and _only_guesses(told)


def _only_guesses(told: Told) -> bool:
    return all(_GUESSES.search(one) for one in told.sentences) and not _KNOWS.search(told.cited)


def _drops_condition(told: Told) -> bool:
    on_terms = all(
        _TERMS.search(plain := ASIDE.sub("", one))
        and (len(plain.split()) <= _LONG or plain.startswith("if "))
        for one in told.sentences
    )
    return on_terms and not _HEDGED.search(told.folded)


def _does(told: Told) -> bool:
    """It tells what will be, or a deed that the cited words name."""
    cited = stems(told.cited)
    return "will " in told.folded or any(
        is_past(word) and stem(word) in cited and stem(word) not in SPEECH for word in words(told.folded)
    )


def _drops_reservation(told: Told) -> bool:
    """What is cited goes on with a "but", and the sentence tells only what comes before it."""
    if (
        re.search(r"\b(?:but|however|though|although|while|with|apart|except)\b", told.folded)
        or len(told.found) > 1
    ):
        return False
    match = _BUT.search(told.cited)
    if match is None:
        return False
    mine = stems(told.folded) - TELLING
    after, before = (
        stems(part) - TELLING for part in (told.cited[match.end() :], told.cited[: match.start()])
    )
    return bool(mine & before or not mine) and not mine & (after - before)


def _is_too_certain(told: Told) -> bool:
    return bool(re.search(r"\bwill\b", told.folded)) and not _CERTAIN.search(told.cited)


def _reasons_unseen(told: Told, least: float) -> bool:
    """A reason whose words stand nowhere around what is cited."""
    match = _MOTIVE.search(told.folded)
    if match is None:
        return False
    there = set().union(*(stems(around(quote)) for quote in told.found))
    reason = stems(match[1]) - TELLING or stems(match[1]) - SMALL
    return bool(reason) and sum(word in there for word in reason) <= least * len(reason)


def around(quote: LocatedQuote) -> str:
    """What is cited, the sentences around it, and the quote that it stands below."""
    own, first, last = quote.mail.sentences, quote.sentences[0].index, quote.sentences[-1].index
    shown = [quote.text, *(one.text for one in own[max(0, first - 1) : last + 2])]
    if (block := quote.sentences[0].block) >= 0:
        shown.append(quote.mail.mail.quotes[block].text[-600:])
    return " ".join(shown)


_DENIALS: tuple[tuple[str, Callable[[Told], bool]], ...] = (
    ("it speaks of everybody or nobody, and nothing cited does", _speaks_for_everybody),
    ("it says that something is withdrawn, and nothing cited does", _withdraws_unseen),
    ("it speaks of consensus, and nothing cited affirms it", _claims_consensus),
    ("it turns a stance around", turns_stance),
    ("it says a stance that nothing cited names", _names_no_stance),
    ("it turns a judgment around", turns_judgment),
    ("it tells a decision, and nothing cited decides", _decides_unseen),
    ("a question is told as a statement", _states_a_question),
    ('a "not" was lost or added', turns_negation),
    ("a guess is told as known", _knows_a_guess),
    ("it turns a comparison around", turns_comparison),
    ("what may be is told as certain", _is_too_certain),
    ("a condition was left out", lambda told: _drops_condition(told) and _does(told)),
    ("it gives a reason that nothing cited gives", lambda told: _reasons_unseen(told, 0.0)),
)
_DOUBTS: tuple[tuple[str, Callable[[Told], bool]], ...] = (
    ("it speaks of all, and what it cites of a part", widens),
    ("what is announced, asked or wished for is told as done", tells_as_done),
    ("it says a stance that nothing cited says", _stance_unsaid),
    ("a condition was left out", _drops_condition),
    ("a reservation was left out", _drops_reservation),
    ("it speaks of all, and nothing cited does", speaks_of_all),
    ("it gives a reason that nothing cited gives", lambda told: _reasons_unseen(told, 0.5)),
)
