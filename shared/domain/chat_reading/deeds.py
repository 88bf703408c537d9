"""Whether what a sentence says was done, decided, withdrawn or meant is done in the words that it cites."""

import re
from collections.abc import Sequence

from shared.domain.chat_reading.evidence import LocatedQuote
from shared.domain.chat_reading.sides import NOT
from shared.domain.chat_reading.told import Told
from shared.domain.chat_reading.wording import SMALL, TELLING, stem, stems, words
from shared.domain.consensus import cues
from shared.domain.consensus.closings import settles_it
from shared.domain.consensus.mails import OwnSentence, fold

_DONE = re.compile(
    r"\b(?:has|have|had|was|were|been|got|became)(?: \w+ly| been| now| already| then)* "
    r"((?:un|re)?[a-z]+(?:ed|en|wn|nt|ut|ld))\b|\b(?:is|are)(?: now| already)? (merged|"
    r"accepted|adopted|fixed|released|applied|"
    r"queued|closed|approved|rejected|resolved|done|removed|published|dropped|updated)\b|"
    r"(?<!\bis )(?<!\bare )(?<!\bbe )\b([a-z]{3,}(?:ed|ept|osen|ose|ook))\b"
)
_NOT_YET = re.compile(
    r"(?:\b(?:to|will|would|should|can|could|may|might|must|if|not|or|get|gets|getting) "
    r"(?:\w+ )?be (?:\w+ )?|"
    r"\b(?:be|if|not|to be|being|when|once|until|the|an?|more|as|well|so|of|how|that is|is) )$"
)
_AHEAD = re.compile(
    r"(?:(?:'ll|'d|\b(?:will|would|should|shall|can|could|may|might|must|let's|let me|please|"
    r"if|when|once|propose|suggest|until|"
    r"before|about|(?:going|want|wants|need|needs|like|plan|plans|hope|hopes|try|ready|asked|"
    r"expect\w* .{0,40}|intend|able|"
    r"work|time|how|way|idea|option|possible|appropriate|start|decision|chairs|order|left|"
    r"forgot|refus\w+|tempted) to|thought of|"
    r"think of))(?: (?:not|also|be|just|now|then|probably|only|easily|get|have|and|"
    r"[a-z]+ly))*(?: [a-z]+ (?:and|or))? "
    r"|\b(?:if|whether)\b[^,.;]{0,60})$"
)
_IS_DONE = re.compile(
    r"\b(?:it is|it's|is now|both|all|already) (?:done|fixed|merged|submitted)\b|^\W{0,3}(?:thanks,? )?done\b"
)
_DECIDES = re.compile(
    r"\b(?:(?:it|this) (?:was|is|has been) (?:decided|agreed|accepted|rejected|adopted|"
    r"resolved)|decided|decides|"
    r"decision (?:was|is)|(?:group|list|working group|wg|community|team|they|chairs?) "
    r"(?:has |have )?(?:agreed|decided|adopted|accepted|rejected|approved|picked|chose)|"
    r"(?:was|were|is|are|been) (?:agreed|decided|adopted|accepted|rejected|approved|turned "
    r"down|chosen|fixed to|"
    r"picked|removed|passed)|(?:will be|are|is) (?:simplified|removed|released|adopted|merged)|"
    r"(?:accepted|rejected|approved|adopted|accepts|rejects|approves|adopts)\b)"
)
_CONSENSUS = re.compile(r"(?<!no )\bconsensus\b(?! calls?\b)")
_EVERYBODY = re.compile(
    r"\b(?:everyone|everybody|nobody|no one|unanimous\w*|all (?:(?:the|of the|of them|\w+) "
    r")?(?:participants|reviewers|people|members|"
    r"developers|users|maintainers|chairs|who|others|agree\w*|support\w*|object\w*)|the "
    r"(?:whole|entire) (?:group|list))\b"
)
_ALL = re.compile(r"\b(?:all|every|any|always|never|none|whole|entire)\b")
_TERMS = re.compile(
    r"\b(?:if|unless|provided|as long as|assuming|until|once|perhaps|maybe|might be|as soon as)\b"
)
_FIRM_TERMS = re.compile(r"\b(?:unless|provided that|as long as|assuming|only if|if .{0,200}\bthen)\b")
_TERMED = re.compile(
    r"\b(?:if|unless|provided|as long as|whether|assuming|until|once|when|asks?|asked|"
    r"wonders?|condition\w*|depends?|"
    r"unclear|open|after|then|though|but|only|would|could)\b"
)
_LONG = 30
"""Words of a sentence in which an "if" may be of something else."""
_BUT = re.compile(r"[,;] (?:but|however)\b|\bbut then\b")
_HEDGED = re.compile(
    r"\b(?:if|unless|provided|as long as|whether|assuming|until|once|when|perhaps|maybe|might|"
    r"may|would|could|should|can|"
    r"asks?|asked|wonders?|suggests?|suggested|proposes?|proposed|thinks?|thought|believes?|"
    r"wants?|considers?|seems?|"
    r"apparently|needs?|hopes?|guess\w*|possibl[ey]|proposal|questions?|offers?|sure|doubts?|"
    r"for now|looks? into|then|after|"
    r"unclear|open|requests?|requested|requires?|condition\w*|likely|probably|plans?|expects?)\b"
)
_WONDERS = re.compile(r"^\W*(?:\w+ ){0,3}question is\b|^\W*(?:\w+ ){0,2}i(?:'m| am)? wonder\w*\b")
_ASKS = re.compile(
    r"\b(?:asks?|asked|asking|wonders?|wondered|questions?|whether|seeks?|seeking|looking for|"
    r"what|how|who|why|is to be|"
    r"unclear|open|would like|wants?|requests?|requested|inquire[sd]?|raise[sd]?|suggests?|"
    r"suggested|proposes?|proposed|"
    r"thread is about|asked for|call\w*|put|vote)\b"
)
_ASKS_OR_DOUBTS = re.compile(
    r"\b(?:asks?|asked|wonder\w*|question\w*|whether|if|sure|clear|unclear|doubts?|might|may|"
    r"would|could|perhaps|open|seeks?)\b"
)
_WITHDREW = re.compile(
    r"\b(?:withdr[ae]ws?|withdrew|withdrawn|retract\w*|concede[sd]?|gave up|gives up|backed "
    r"down|takes back|took back)\b"
)
_WITHDRAWS = re.compile(
    r"\b(?:withdraw\w*|withdrew|retract\w*|drop\w*|never ?mind|lift\w*|no longer|concede\w*|"
    r"give up|gave up|convinced|fair enough|stand corrected|will not discuss|take (?:it|that) "
    r"back)\b"
)
_MOTIVE = re.compile(
    r"\b(?:because(?: of)?|in order to|due to|so that|out of|for fear of|since|to (?:save|"
    r"avoid|prevent|silence|keep|protect|please))\b(.+)$"
)
_DECIDED = re.compile(
    r"\b(?:decided|agreed|adopted|accepted|approved|rejected|cancel\w*|concludes?|passed)\b"
)
_CERTAIN = re.compile(r"\b(?:will|shall|going to|won't|plans?)\b|'ll\b")


def speaks_for_everybody(told: Told) -> bool:
    return bool(_EVERYBODY.search(told.folded) and not _EVERYBODY.search(told.cited))


def withdraws_unseen(told: Told) -> bool:
    return bool(_WITHDREW.search(told.folded) and not _WITHDRAWS.search(told.cited))


def claims_consensus(told: Told) -> bool:
    folded = told.folded
    claims = _CONSENSUS.search(folded) and not _ASKS.search(folded)
    return bool(claims) and not _affirms_consensus(told.cited)


def told_as_done(told: Told) -> bool:
    """What is announced, asked or wished for is told as done."""
    return _told_as_done(told.folded, told.cited)


def decides_unseen(told: Told) -> bool:
    return _tells_decision(told.folded, told.cited) and not _decides(told.found)


def states_a_question(told: Told) -> bool:
    """What only asks, or wonders, is told as a statement."""
    folded = told.folded
    asked = all(quote.text.rstrip("\"') ").endswith("?") for quote in told.found)
    if asked and not (_ASKS.search(folded) or folded.endswith("?")):
        return True
    wonders = all(_WONDERS.search(fold(quote.text)) for quote in told.found)
    return wonders and not _ASKS_OR_DOUBTS.search(folded)


def drops_condition(told: Told) -> bool:
    folded = told.folded
    firm = _on_firm_terms(told.found) and not _TERMED.search(folded)
    return firm or (_on_terms(told.found) and not _HEDGED.search(folded))


def is_too_certain(told: Told) -> bool:
    return bool(re.search(r"\bwill\b", told.folded)) and not _CERTAIN.search(told.cited)


def speaks_of_all(told: Told) -> bool:
    said = {match[0] for match in _ALL.finditer(told.cited)}
    return any(match[0] not in said for match in _ALL.finditer(told.folded))


def _on_firm_terms(found: Sequence[LocatedQuote]) -> bool:
    return all(_FIRM_TERMS.search(fold(quote.text)) or fold(quote.text).startswith("if ") for quote in found)


def _on_terms(found: Sequence[LocatedQuote]) -> bool:
    """All that is cited stands on a condition."""
    return all(
        _FIRM_TERMS.search(fold(quote.text))
        or (_TERMS.search(fold(quote.text)) and len(quote.text.split()) <= _LONG)
        or re.match(r"^\W*(?:\w+ )?(?:perhaps|maybe)\b", fold(quote.text))
        for quote in found
    )


def drops_reservation(folded: str, found: Sequence[LocatedQuote]) -> bool:
    """What is cited goes on with a "but", and the sentence tells only what comes before it."""
    if re.search(r"\b(?:but|however|though|although|while|with|apart|except)\b", folded) or len(found) > 1:
        return False
    cited = fold(found[0].text)
    match = _BUT.search(cited)
    if match is None:
        return False
    told = {stem(word) for word in words(folded)} - SMALL
    after = {stem(word) for word in words(cited[match.end() :])} - SMALL
    before = {stem(word) for word in words(cited[: match.start()])} - SMALL
    return bool(told & before) and not told & (after - before)


def _affirms_consensus(cited: str) -> bool:
    for match in re.finditer(r"\bconsensus\b|\bagree\w*", cited):
        before = cited[max(0, match.start() - 40) : match.start()]
        if not re.search(r"\b(?:no|not|some|if|whether|establish\w*|any|more|need\w*|was)\b|n't", before):
            return True
    return False


def _told_as_done(folded: str, cited: str) -> bool:
    """A verb in the past of which the cited words only say that it will, should or may be."""
    if _IS_DONE.search(cited):
        return False
    places: dict[str, list[int]] = {}
    for word in re.finditer(r"[a-z]+", cited):
        places.setdefault(stem(word[0]), []).append(word.start())
    for match in _DONE.finditer(folded):
        number = match.lastindex or 1
        before = folded[max(0, match.start(number) - 24) : match.start(number)]
        if _NOT_YET.search(before) or _AHEAD.search(folded[max(0, match.start() - 60) : match.start(number)]):
            continue
        where = places.get(stem(match[number]), [])
        if where and all(_AHEAD.search(cited[max(0, place - 60) : place]) for place in where):
            return True
    return False


def _tells_decision(folded: str, cited: str) -> bool:
    """It says that something was decided, and neither denies nor asks it."""
    return not _HEDGED.search(folded) and any(
        not NOT.search(folded[max(0, match.start() - 40) : match.start()])
        and "nothing" not in folded
        and match[0] not in cited
        for match in _DECIDES.finditer(folded)
    )


def _decides(found: Sequence[LocatedQuote]) -> bool:
    return any(_settles(sentence) for quote in found for sentence in quote.sentences)


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


def unshown_motive(folded: str, found: Sequence[LocatedQuote]) -> bool:
    """A reason whose words stand nowhere in the mails that are cited."""
    match = _MOTIVE.search(folded)
    if match is None:
        return False
    there = set().union(*(_around(quote) for quote in found))
    told = {stem(word) for word in words(match[1])} - SMALL - TELLING
    return bool(told) and sum(word in there for word in told) * 2 <= len(told)


def _around(quote: LocatedQuote) -> set[str]:
    """The words of what is cited, of the sentences around it, and of the quote that it stands below."""
    own = quote.mail.sentences
    first, last = quote.sentences[0].index, quote.sentences[-1].index
    shown = [quote.text, *(one.text for one in own[max(0, first - 2) : last + 3])]
    if quote.sentences[0].block >= 0:
        shown.append(quote.mail.mail.quotes[quote.sentences[0].block].text[-600:])
    return stems(" ".join(shown))
