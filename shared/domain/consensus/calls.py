"""Consensus calls: a chair opens one, closes it, and says what came out."""

import re
from collections.abc import Collection

from shared.domain.consensus.models import CallKind, ConsensusCall, ConsensusMessage, Evidence
from shared.domain.consensus.sentences import Sentence, own_sentences
from shared.domain.consensus.stance import is_question
from shared.domain.consensus.text_folding import fold, hide_quotes, hide_sayings

_QUALITY = (
    r"(?:(?:a|any|very|strong|clear|rough|general|good|broad|sufficient|working group|wg|full|enough"
    r"|unanimous) ){0,4}"
)
_GROUP = r"(?:we|there|the (?:wg|working group|group|list|room|chairs?))"
_CALL = (
    r"(?:wg ?lc|(?:wg|working group|ietf)? ?last call|adoption (?:call|poll)|call for (?:adoption"
    r"|consensus|wg adoption)"
    r"|consensus call|adoption period)"
)
_FOR = r"(?:\w+ly )?(?:in favou?r|for|in support|supportive|positive|yes|to (?:adopt|publish|proceed|accept))"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_NO_CONSENSUS = _any(
    rf"\bno {_QUALITY}consensus\b",
    r"\black of (?:\w+ )?consensus\b",
    r"\bwithout (?:\w+ )?consensus\b",
    rf"\b(?:don't|do not|didn't|did not|doesn't|does not|haven't|have not|hasn't|has not|isn't|is not"
    rf"|wasn't|was not|failed to|cannot|can't)"
    rf"(?: yet| currently| really)?(?: think| believe| see| feel)?(?: that)?(?: {_GROUP}(?:'ve| have| has|"
    rf" is| was)?)?"
    rf"(?: have| see| reach(?:ed)?| achieve[d]?| be| been)? {_QUALITY}consensus\b",
    r"\bconsensus (?:was|has|is|were)(?:n't| not)(?: yet)?(?: been)? (?:reached|achieved|established|found"
    r"|clear|there)\b",
    r"\b(?:hum|hums|poll|room|show of hands) (?:was|were|is) (?:\w+ly )?(?:inconclusive|split|even|unclear"
    r"|divided|evenly)\b",
)
_AGAINST = _any(
    rf"\b{_QUALITY}consensus (?:is |was |seems |appears )?(?:not to|to not|against)\b",
    r"\b(?:hum|hums|poll|room|show of hands) (?:was|were|is) (?:\w+ly )?(?:against|opposed|not to|no)\b",
)
_DECLARED = _any(
    rf"\b(?:i|we|chairs) (?:see|sense|detect|find|heard?) {_QUALITY}consensus\b",
    rf"\b{_GROUP}(?:'ve|'s| have| has| is| was| seems? to (?:be|have)| appears? to (?:be|have))?"
    rf"(?: now| already| indeed)?(?: reached| achieved| got| come to| found| established)?"
    rf" {_QUALITY}consensus\b",
    r"\bconsensus (?:has been |was |is |been )?(?:now )?(?:reached|declared|confirmed|established"
    r"|achieved)\b",
    rf"\b(?:rough |strong |clear |wg |working group |the |our )consensus (?:is|was|seems|appears|remains)"
    rf" (?:clearly )?{_FOR}\b",
    r"\b(?:the|wg|rough) consensus (?:is|was|seems to be|appears to be) (?:that|to)\b",
    r"\b(?:declar(?:e|ed|ing)|call(?:ing)?|conclude|judge) (?:\w+ )?(?:that )?(?:there is |we have"
    r" )?(?:rough |strong |clear )?consensus\b",
    r"\b(?:hearing|seeing|heard|seen|received|saw|got|were|have been|was|been) no (?:further |other "
    r"|strong |sustained |more )?objections?\b",
    r"\bno (?:further |other |strong |sustained )?objections? (?:\w+ ){0,3}?(?:heard|raised|received|seen"
    r"|voiced|posted|expressed|sent)\b",
    r"\b(?:nobody|no one|no-one|none) (?:has |have )?(?:objected|raised (?:an|any) objections?|spoke up"
    r" against)\b",
    rf"\b(?:hum|hums|poll|sense of the room|room|show of hands) (?:\w+ ){{0,3}}?(?:was|is|showed|indicated"
    rf"|were|came out) {_FOR}\b",
    r"\b(?:strong|clear|loud|overwhelming) hum (?:for|in favou?r|to|in support)\b",
    r"\bhereby declare\b",
    rf"\b{_CALL}\b.{{0,80}}\b(?:(?:clear|strong|rough|sufficient|enough|good|broad|wide) (?:consensus"
    rf"|support)|successful(?:ly)?|consensus to)\b",
)
_CLOSED = _any(
    rf"\b{_CALL}(?: (?:for|on|of) \S+)?(?: period)?(?: has| is| was| have)?(?: been)?(?: now)? "
    r"(?:concluded|completed|closed|passed|ended|complete|over|finished|expired|done)\b",
    rf"\b(?:this|we|i|the chairs)(?:'m|'re| hereby| now| am| are| will)? (?:concludes?|concluding|closes?"
    rf"|closing|ends?|ending) (?:the |this |a )?"
    rf"(?:\S+ )?{_CALL}\b",
)
_OPENED = _any(
    r"\b(?:this|i|we|message|email|mail|chairs)(?:'m|'re|'d| hereby| am| are| is| would like to| want to|"
    r" will)? ?(?:\w+ )?"
    rf"(?:starts?|starting|begins?|beginning|initiat\w+|issu\w+|opens?|opening|announc\w+|launch\w*"
    rf"|start)(?: \S+){{0,4}}? {_CALL}\b",
    rf"\b(?:this|here) is (?:a |an |the )?(?:\w+[- ]){{0,3}}?{_CALL}\b",
    rf"^\W*(?:\w+ )?{_CALL}\s*:",
    r"\bplease hum\b|\bhum (?:now|if you)\b",
    r"\bplease (?:respond|reply|indicate|state|send|let us know|speak up|say)\b.{0,120}\b(?:support"
    r"|object\w*|adopt\w*|consensus|oppose)\b",
    rf"\b(?:consensus call|{_CALL}) (?:will |to )?(?:run|end|runs|ends|close|closes)s? (?:on|until|by|for)\b",
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|once|until|when|whether|unless|before|in order to|to see|need|needs|needed|hope|hoping|would"
    r"|could|might|may|"
    r"should|towards?|seek|seeking|build|building|determine|gauge|test|try|judge if|not sure|unsure"
    r"|require[sd]?|want|looking for)\b"
)
_SLOGAN = re.compile(r"\bconsensus and running code\b")
_CHAIR = re.compile(
    r"\bchairs?(?:'s|')? hats?\b|\bas (?:a |the |your |one of the |an? )?(?:wg |working group |document"
    r" )?(?:co-?)?chairs?\b|"
    r"\b(?:for|on behalf of) the (?:\w+ )?(?:co-?)?chairs?\b|[\[<(](?:wg |co-?)?chairs?[\])>]|\b(?:wg"
    r"|working group) (?:co-?)?chairs?[^\w\n]*$|"
    # what leads a line is bounded and stays on it: thousands of lines of dashes must not take their square
    r"^[^\w\n]{0,20}(?:your|the) (?:\w+ ){0,2}(?:co-?)?chairs[^\w\n]*$"
    r"|^[^\w\n]{0,20}(?:\w+ )?(?:co-?)?chairs?[^\w\n]*$|"
    # a signature: a name, a comma, and the office
    r"^[^\w\n]{0,20}(?:[\w.'-]+ ){0,3}[\w.'-]+, (?!.*\b(?:the|our|my|your|with|to|and|dear)\b)"
    r"(?:[\w.'-]+ ){0,3}(?:co-?)?chairs?[^\w\n]*$",
    re.MULTILINE,
)
_NOT_READY = re.compile(r"\b(?:draft|document|it|this)(?: is|'s|,? then,? is)?(?:n't| not)(?: yet)? ready\b")
_OUTCOMES = (
    (CallKind.NO_CONSENSUS, _NO_CONSENSUS),
    (CallKind.DECLARED_AGAINST, _AGAINST),
    (CallKind.DECLARED, _DECLARED),
    (CallKind.CLOSED, _CLOSED),
)
_BEFORE = 60


def consensus_calls(message: ConsensusMessage, chairs: Collection[str] = ()) -> list[ConsensusCall]:
    """The calls in a message. Where the chairs' addresses are known, nobody else is one by saying so."""
    sentences = own_sentences(message.text)
    kinds = [_kind(sentence) for sentence in sentences]
    if not any(kinds):
        return []
    known = {chair.strip().casefold() for chair in chairs}
    by_chair = message.sender_email.strip().casefold() in known if known else _says_chair(message.text)
    if by_chair and CallKind.CLOSED in kinds:
        pairs = zip(kinds, sentences, strict=True)
        kinds = [kind or _verdict_on_readiness(sentence) for kind, sentence in pairs]
    return [
        ConsensusCall(
            kind,
            Evidence(message.key, sentence.start, sentence.end, sentence.text),
            message.sender_email,
            by_chair,
        )
        for kind, sentence in zip(kinds, sentences, strict=True)
        if kind is not None
    ]


def _verdict_on_readiness(sentence: Sentence) -> CallKind | None:
    """A chair who ends a last call with "it is not ready" has found no consensus to publish."""
    return CallKind.NO_CONSENSUS if _NOT_READY.search(fold(sentence.text)) else None


def _says_chair(text: str) -> bool:
    return bool(_CHAIR.search(fold(hide_quotes(text))))


def _kind(sentence: Sentence) -> CallKind | None:
    folded = " ".join(hide_sayings(fold(sentence.text)).split())
    if _SLOGAN.search(folded):
        return None
    if not is_question(folded):
        for kind, pattern in _OUTCOMES:
            if (match := pattern.search(folded)) and not _is_hypothetical(folded, match):
                return kind
    return CallKind.OPENED if _OPENED.search(folded) else None


def _is_hypothetical(folded: str, match: re.Match[str]) -> bool:
    before = folded[max(0, match.start() - _BEFORE) : match.end()]
    clause = re.split(r"[,;:.](?=\s)", before)[-1]
    return bool(_HYPOTHETICAL.search(clause))
