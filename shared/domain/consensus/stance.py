"""The stance of a message: support, objection, neutral, question; unclear rather than a guess."""

import re
from dataclasses import dataclass, replace

from shared.domain.consensus.models import ConsensusMessage, Evidence, MessageStance, Stance
from shared.domain.consensus.sentences import Sentence, own_sentences
from shared.domain.consensus.stance_phrases import Marker, find_markers
from shared.domain.consensus.text_folding import fold, hide_sayings

_SARCASM = re.compile(
    r"(?:^|\s)/s\b\s*$|</?sarcasm|\bsarcasm\b|\byeah,? right\b|\b(?:oh,? )?(?:great|wonderful|lovely"
    r"|fantastic),? another\b|\bsure,? because\b"
    r"|\bas if\b|\bwhat could possibly go wrong\b|\bgood luck with that\b"
)
_CONDITION = re.compile(
    r"\b(?<!even )(?<!as )(?<!see )(?<!ask )(?<!know )(?<!sure )(?<!wonder )if\b"
    r"(?! (?:only|any|anything|needed|necessary|possible|i (?:recall|understand|remember|read|may)|you"
    r" (?:like|want|look|will)|that helps|we can|it can|at all|not\b(?! for)))"
    r"|\bprovided\b(?! by| in| with)|\bproviding that\b|\bassuming\b|\b(?:as|so) long as\b|\bon (?:the"
    r" )?condition\b|\bsubject to\b"
    r"|\bcontingent (?:on|upon)\b|\bonly (?:when|after|once)\b|\bunder the condition\b"
)
_SUPPOSED = re.compile(r"\bif\b[^,;]*$")
_LATER = re.compile(r"\b(?:once|when|after|as soon as|until)\b")
_UNLESS = re.compile(r"\bunless\b")
_MODAL = re.compile(r"\b(?:would|will)\b|'(?:d|ll)\b")
_SUBORDINATE = re.compile(r"\b(?:although|though|even though|while|whilst|whereas|despite|notwithstanding)\b")
_CONTRAST = re.compile(
    r"^\W*(?:but|however|nevertheless|nonetheless|still|yet|that said|having said that|on the other hand"
    r"|unfortunately)\b"
)
_ASKS = re.compile(
    r"^\W*(?:(?:so|and|but|well|also|ok|however|hmm+),?\s+)*(?:do|does|did|is|are|was|were|can|could"
    r"|should|would"
    r"|will|shall|has|have|had|may|might|any|anyone"
    r"|what|why|how|who|which|when|where|whose|isn't|aren't|doesn't|don't|wouldn't|couldn't|shouldn't"
    r"|won't|objections|thoughts|comments)\b"
)
_WHETHER = re.compile(r"\bwhether\b[^,;]*$")
_CLAUSE_END = re.compile(r"[,;:-]|\bbut\b|\bhowever\b|\bthough\b|\band\b")
_TRAILER = re.compile(r"(?:n?acked|reviewed)-by:\s*(?P<who>.*)")
_BUT = re.compile(r"\b(?:but|however)\b")
_CONTRADICTION = frozenset({Stance.SUPPORT, Stance.OBJECTION})
_DECISIVE = (Stance.SUPPORT, Stance.OBJECTION, Stance.NEUTRAL)


@dataclass(frozen=True, slots=True)
class _Finding:
    sentence: Sentence
    marker: Marker
    is_conditional: bool = False
    follows_contrast: bool = False


def message_stance(message: ConsensusMessage) -> MessageStance:
    """The stance of one message, by itself."""
    sentences = own_sentences(message.text)
    findings = [finding for sentence in sentences if (finding := _read(sentence, message)) is not None]
    if decided := _decide(findings):
        return _stance_of(message, decided)
    if findings:
        return replace(_stance_of(message, findings[-1]), stance=Stance.UNCLEAR)
    for sentence in sentences:
        if is_question(sentence.text):
            return MessageStance(message.key, Stance.QUESTION, _evidence(message, sentence), "question")
    return MessageStance(message.key, Stance.NEUTRAL)


def sentence_stance(text: str) -> Stance | None:
    """The stance that one sentence shows, or None."""
    finding = _read(Sentence(0, len(text), text), None)
    if finding is not None:
        return finding.marker.stance
    return Stance.QUESTION if is_question(text) else None


def is_question(text: str) -> bool:
    """Whether a sentence asks. A question mark inside an address does not make a question."""
    return bool(re.search(r"\?['\")\]]*\s*$", text)) and bool(re.search(r"[A-Za-z]{2}", text))


def _read(sentence: Sentence, message: ConsensusMessage | None) -> _Finding | None:
    folded = hide_sayings(fold(sentence.text))
    if _SARCASM.search(folded):
        return None
    markers = [
        marker
        for marker in find_markers(folded)
        if not _is_asked(folded, marker) and _is_senders(folded, marker, message)
    ]
    if not markers:
        return None
    marker = _main(folded, markers)
    conditional = _is_conditional(folded, marker)
    if conditional:
        marker = replace(marker, stance=Stance.UNCLEAR, cue=f"conditional: {marker.cue}")
    return _Finding(sentence, marker, conditional, bool(_CONTRAST.match(folded)))


def _is_asked(folded: str, marker: Marker) -> bool:
    """A stance in a question is asked for, not taken, unless the question is a clause of its own after it."""
    if _WHETHER.search(folded, 0, marker.start):
        return True
    if not is_question(folded):
        return False
    return bool(_ASKS.match(folded)) or not _CLAUSE_END.search(folded, marker.end)


def _is_senders(folded: str, marker: Marker, message: ConsensusMessage | None) -> bool:
    """`Acked-by: Bob` in Alice's patch is Bob's word."""
    trailer = _TRAILER.search(folded, marker.start, marker.end)
    if trailer is None or not trailer["who"].strip() or message is None:
        return True
    who = trailer["who"]
    return fold(message.sender_email) in who or bool(message.sender_name and fold(message.sender_name) in who)


def _main(folded: str, markers: list[Marker]) -> Marker:
    """The marker that a sentence comes down to.

    One in a clause that yields ("although ...") steps back. After a "but" the last one counts; otherwise the
    strongest, and two equals that contradict each other leave it unclear.
    """
    main = [marker for marker in markers if not _is_subordinate(folded, marker)] or markers
    decisive = [marker for marker in main if marker.stance in _DECISIVE] or main
    if _BUT.search(folded):
        return decisive[-1]
    strongest = max(marker.strength for marker in decisive)
    top = [marker for marker in decisive if marker.strength == strongest]
    taken = {marker.stance for marker in top}
    return replace(top[-1], stance=Stance.UNCLEAR) if taken >= _CONTRADICTION else top[-1]


def _is_subordinate(folded: str, marker: Marker) -> bool:
    for match in _SUBORDINATE.finditer(folded, 0, marker.start):
        opens_sentence = not folded[: match.start()].strip(" \n\t")
        comma = folded.find(",", match.end())
        if not opens_sentence or comma < 0 or marker.start < comma:
            return True
    return False


def _is_conditional(folded: str, marker: Marker) -> bool:
    if marker.stance not in (Stance.SUPPORT, Stance.OBJECTION):
        return False
    modal = bool(_MODAL.search(folded, marker.start, marker.end))
    if marker.stance is Stance.OBJECTION:
        # "I object unless" and "I cannot support this until" are objections today, "I would object if" none.
        if _SUPPOSED.search(folded, 0, marker.start):
            return True
        return modal and "not" not in folded[marker.start : marker.end] and bool(_CONDITION.search(folded))
    clause = folded[marker.end :]
    return (
        bool(_CONDITION.search(clause) or _UNLESS.search(clause))
        or bool(re.match(r"\W*(?:if|assuming|provided|unless|once)\b[^,]*,", folded[: marker.start]))
        or (modal and bool(_LATER.search(folded)))
    )


def _decide(findings: list[_Finding]) -> _Finding | None:
    """The strongest decisive finding; of contradicting equals, the one after a "however"."""
    decisive = [finding for finding in findings if finding.marker.stance in _DECISIVE]
    if not decisive:
        return None
    strongest = max(finding.marker.strength for finding in decisive)
    top = [finding for finding in decisive if finding.marker.strength == strongest]
    taken = {finding.marker.stance for finding in top} - {Stance.NEUTRAL}
    if not taken >= _CONTRADICTION:
        return _first_with(top, taken)
    return top[-1] if top[-1].follows_contrast else None


def _first_with(top: list[_Finding], taken: set[Stance]) -> _Finding:
    """Support and objection say more than "no objection" beside them, unless that takes an objection back."""
    withdrawn = [finding for finding in top if finding.marker.cue == "objection withdrawn"]
    if withdrawn and Stance.OBJECTION in taken:
        return withdrawn[-1]
    return next((finding for finding in top if finding.marker.stance in taken), top[-1])


def _stance_of(message: ConsensusMessage, finding: _Finding) -> MessageStance:
    marker = finding.marker
    return MessageStance(
        message.key,
        marker.stance,
        _evidence(message, finding.sentence),
        marker.cue,
        is_explicit=True,
        is_relative=marker.is_relative,
        is_conditional=finding.is_conditional,
        agrees_with=marker.agrees_with,
    )


def _evidence(message: ConsensusMessage, sentence: Sentence) -> Evidence:
    return Evidence(message.key, sentence.start, sentence.end, sentence.text)
