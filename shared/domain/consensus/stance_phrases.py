"""Explicit markers of a stance, found in one folded sentence.

A marker is a phrase in the first person ("I do not support"), one whose subject is left out ("Strongly
support."), or a mark of its own ("+1", "LGTM"). Who stands in the third person is spoken about, and is never
the sender: "Bob objected that ..." gives nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.domain.consensus.models import Stance
from shared.domain.consensus.stance_marks import DECIDED, HINTED, MARKS, SAID, TARGET


@dataclass(frozen=True, slots=True)
class Marker:
    stance: Stance
    strength: int
    start: int
    end: int
    cue: str
    is_relative: bool = False
    agrees_with: str = ""


@dataclass(frozen=True, slots=True)
class _Phrase:
    cue: str
    pattern: str
    polarity: int
    strength: int
    is_relative: bool = False


_PHRASES = (
    _Phrase("support", r"support(?:ive of)?|endorse|favou?r(?! of)|favou?r of|second", 1, DECIDED),
    _Phrase("agree", r"agree|concur|agreement", 1, SAID, is_relative=True),
    _Phrase("fine with", r"(?:fine|ok|okay|happy|comfortable|good|satisfied) with|on board|all for", 1, SAID),
    _Phrase("like", r"like(?= (?:this|the|that|it|your|\w+'s)\b)", 1, HINTED, is_relative=True),
    _Phrase(
        "object",
        r"object(?! (?:model|class|oriented|type|id)\b)|oppose|opposed|veto"
        r"|against(?! (?:the )?(?:version|draft-|rfc|test))",
        -1,
        DECIDED,
    ),
    _Phrase("disagree", r"disagree|dissent|disagreement", -1, SAID, is_relative=True),
    _Phrase("unhappy with", r"(?:unhappy|uncomfortable) with", -1, SAID),
    _Phrase("accept", r"accept|live with (?:this|that|it|the)", 1, HINTED),
    _Phrase("convinced", r"convinced", 1, HINTED),
)
_STOP = r"(?= *(?:$|[.,!;)\n-]))"
# Without a subject a word may be a noun ("Object names are ...", "Support is limited", "Second, ..."): what
# follows has to be a full stop, or the thing that the stance is about.
_BARE_PHRASES = (
    _Phrase(
        "support", rf"(?:support|endorse){_STOP}|(?:support|endorse)(?= (?!for|of|in)){TARGET}", 1, DECIDED
    ),
    _Phrase("support", rf"in favou?r{_STOP}|in favou?r of", 1, DECIDED),
    _Phrase("support", rf"supporting{TARGET}{_STOP}", 1, DECIDED),
    _Phrase(
        "agree",
        rf"(?:agree|concur|in agreement)(?:{_STOP}|(?= (?:with|that|completely|fully|too)\b))",
        1,
        SAID,
        is_relative=True,
    ),
    _Phrase("fine with", r"(?:fine|ok|okay|happy|comfortable) with", 1, SAID),
    _Phrase(
        "object",
        rf"(?:object|oppose|opposed|against)(?:{_STOP}|(?= (?:to|this|it|adopti\w+|publi\w+)\b))",
        -1,
        DECIDED,
    ),
    _Phrase(
        "disagree",
        rf"disagree(?:{_STOP}|(?= (?:with|that|completely|strongly)\b))",
        -1,
        SAID,
        is_relative=True,
    ),
)


def _either(phrases: tuple[_Phrase, ...]) -> str:
    return (
        "(?:"
        + "|".join(f"(?P<p{number}>{phrase.pattern})" for number, phrase in enumerate(phrases))
        + r")(?![\w-])"
    )


_NEGATIONS = r"not|never|cannot|no longer|neither|hardly|refuse to|decline to|fail to|unable to|nor"
_MYSELF = r"(?: that)? (?:i|we)"
# What may stand between the subject and the verb. Anything else, and the verb is not the subject's.
_MIDDLE = (
    rf"(?:'(?:m|d|ve|ll|re)|\s+(?:\w+n't|{_NEGATIONS}|\w+ly|am|are|have|had|be|been|would|will|do|did|can"
    rf"|could|might"
    r"|may|must|should|shall|also|still|too|very|much|both|quite|rather|always|now|just|indeed|once|again"
    r"|therefore"
    r"|thus|hereby|100%|even|in general|on balance|for one|tend to|have to|want to|wish to|like to|going"
    r" to|need to"
    r"|happy to|glad to|pleased to|ready to|willing to|prepared to|inclined to|able to|reluctant to"
    r"|hesitate to"
    r"|hesitant to|tempted to|used to|continue to|remain|more or less|kind of|somewhat|all|as well|in|full"
    r"|find"
    r" myself"
    rf"|(?:think|believe|guess|say){_MYSELF}|sure(?: that| if| whether)? (?:i|we)|know (?:if|whether) (?:i"
    rf"|we)"
    r"|see how (?:i|we)))"
)
_SELF = re.compile(
    rf"(?:\b(?P<before>[\w']+)[ ,]+)?\b(?P<who>i|we)\b(?P<middle>{_MIDDLE}{{0,8}})\s+{_either(_PHRASES)}"
)
_BARE = re.compile(
    # "I have read the draft and support ...": the subject stands before the first verb.
    r"(?:^|;|,\s*but|\b(?:i|we)(?:'ve| have)?(?: \w+)? (?:read|reviewed|looked|implemented|followed"
    r"|contributed)\b"
    r"[^.;?!]{0,120}?\band)\s*(?P<who>)"
    r"(?P<middle>(?:(?:\w+ly|also|still|do not|don't|cannot|can't|not|would|very much) +){0,3})"
    + _either(_BARE_PHRASES)
)
_NEGATED = re.compile(rf"n't\b|\b(?:{_NEGATIONS})\b")
_HISTORIC = re.compile(r"\b(?:had|used to|did|would have|could have|once|(?:did|had|was|were)n't)\b")
_HEDGED = re.compile(
    r"\b(?:might|may|could|should|reluctant to|hesitate to|hesitant to|tempted to|sure|know (?:if|whether)"
    r"|see how)\b"
)
_WISHES = re.compile(r"\bwould\b|'d\b")
_COULD_NOT = re.compile(r"\bcould(?:n't| not)\b")
_ASKED_OF_ONE = re.compile(
    r"(?:if|unless|until|whether|when|before|why|how|may|(?:do|does|did|can|could|should|would)(?:n't)?"
    r"|can't)$"
)
_ASKED_OF_US = re.compile(rf"{_ASKED_OF_ONE.pattern}|(?:that|won't)$")
_REPORTED = re.compile(
    r"\b(?:said|says|wrote|writes|claim(?:s|ed)|argue[sd]|stated|told (?:me|us))[ ,:]+(?:that )?$"
)
_NAMED = re.compile(r"\s+(?:\w+ly )?(?:with|to)\s+(?:what\s+)?([a-z][a-z.-]+)\b")
_AGAINST_SOMETHING = re.compile(
    r"\s+(?:with\s+|to\s+|on\s+|for\s+)?(?:(?!no\s)[^\s,;]+\s+){0,4}?(?:objections?|concerns?|worr(?:y|ies)|criticism)\b"
    r"|\s+that\s+(?:\S+\s+){1,6}?(?:isn't|is not|not|aren't|are not|shouldn't|should not)\s+(?:yet\s+|be\s+)?"
    r"(?:ready|adopt\w*|publish\w*|a good idea|needed|mature)"
)
_AS_IT_IS = re.compile(r"[^,;]*\bas (?:it is|they are)\b")
_TOWARDS_TARGET = re.compile(r"\s*(?:to|on|for)?" + TARGET)
_DOUBLE = re.compile(r"\b(?:couldn't|could not|can't|cannot) (?P<what>agree|disagree) more\b")


def find_markers(folded: str) -> list[Marker]:
    """The markers of one sentence, in order. What one says more exactly than another hides the other."""
    kept: list[Marker] = []
    for marker in (*_doubled(folded), *_marks(folded), *_in_person(folded), *_bare(folded)):
        if not any(marker.start < other.end and other.start < marker.end for other in kept):
            kept.append(marker)
    return sorted(kept, key=lambda marker: marker.start)


def _doubled(folded: str) -> Iterator[Marker]:
    for match in _DOUBLE.finditer(folded):
        stance = Stance.SUPPORT if match["what"] == "agree" else Stance.OBJECTION
        yield Marker(
            stance, SAID, match.start(), match.end(), f"could not {match['what']} more", is_relative=True
        )


def _marks(folded: str) -> Iterator[Marker]:
    for mark in MARKS:
        for match in mark.pattern.finditer(folded):
            span = match.start(), match.end()
            yield _marker(mark.stance, mark.strength, span, mark.cue, folded, is_relative=mark.is_relative)


def _in_person(folded: str) -> Iterator[Marker]:
    for match in _SELF.finditer(folded):
        phrase = _which(match, _PHRASES)
        if _speaks_for_self(folded, match, phrase):
            yield from _phrase_marker(folded, match, phrase)


def _bare(folded: str) -> Iterator[Marker]:
    for match in _BARE.finditer(folded):
        yield from _phrase_marker(folded, match, _which(match, _BARE_PHRASES))


def _which(match: re.Match[str], phrases: tuple[_Phrase, ...]) -> _Phrase:
    return next(phrase for number, phrase in enumerate(phrases) if match[f"p{number}"] is not None)


def _phrase_marker(folded: str, match: re.Match[str], phrase: _Phrase) -> Iterator[Marker]:
    stance = _stance(phrase.polarity, match["middle"])
    if stance is not None:
        span = match.start("who"), match.end()
        if phrase.cue == "like" and _AS_IT_IS.match(folded, match.end()):
            stance = Stance.UNCLEAR  # in answer to a change it says no, by itself it says nothing about one
        yield _marker(stance, phrase.strength, span, phrase.cue, folded, is_relative=phrase.is_relative)


def _marker(
    stance: Stance, strength: int, span: tuple[int, int], cue: str, folded: str, *, is_relative: bool
) -> Marker:
    """The marker, turned round where what is supported is itself an objection."""
    rest = folded[span[1] : span[1] + 200]
    if stance is Stance.SUPPORT and _AGAINST_SOMETHING.match(rest):
        return Marker(Stance.OBJECTION, strength, *span, cue)
    if not is_relative:
        return Marker(stance, strength, *span, cue)
    named = _NAMED.match(rest)
    towards_proposal = bool(_TOWARDS_TARGET.match(rest))
    return Marker(stance, strength, *span, cue, not towards_proposal, named[1] if named else "")


def _speaks_for_self(folded: str, match: re.Match[str], phrase: _Phrase) -> bool:
    is_we = match["who"] == "we"
    if (_ASKED_OF_US if is_we else _ASKED_OF_ONE).match(match["before"] or ""):
        return False
    if _REPORTED.search(folded[max(0, match.start("who") - 40) : match.start("who")]):
        return False
    if phrase.cue == "like" and _WISHES.search(match["middle"]):
        return False
    # "We support TLS 1.2" and "we accept ports" are about a product; "we support adoption" is a stance.
    is_product = is_we and phrase.cue in ("support", "accept")
    return not is_product or bool(_TOWARDS_TARGET.match(folded, match.end()))


def _stance(polarity: int, middle: str) -> Stance | None:
    """What a phrase says with what stands between its subject and its verb; None where it is history."""
    if _HISTORIC.search(middle):
        return None
    if _HEDGED.search(middle) and not _COULD_NOT.search(middle):
        return Stance.UNCLEAR
    is_negated = len(_NEGATED.findall(middle)) % 2 == 1
    if polarity > 0:
        return Stance.OBJECTION if is_negated else Stance.SUPPORT
    return Stance.NEUTRAL if is_negated else Stance.OBJECTION
