"""How a call or vote ends: passed, cancelled, turned down, passed on, put off, sent back."""

import re

from shared.domain.consensus.cues import Cue
from shared.domain.consensus.own_sentences import OwnSentence

_WHO = r"\b(?:i|we|chairs)"
_GROUP = r"(?:draft-ietf-|(?:wg|working group) (?:draft|document|item))"
ADVANCES = Cue(
    "push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|requested|request|"
    "advancing|moving|sending|resubmit|post|upload|support|interest|ahead|proceed|adopt|accept|adopting|"
    "accepting|consider",
    _WHO + r"(?:'ll| will|'m going to| am going to| are going to|'re going to| have|'ve)? (?:now |then )?"
    r"(?:push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|request|requested) "
    r"(?:(?:the|this|it|them|that|draft-\S{1,80}) ?(?:draft|document|publication|spec\w*|text)?) ?"
    r"(?:to(?:wards?)?|forward|on|for|of|up)\b",
    r"\b(?:re-?submit|submit|post|upload)\b.{0,60}\bas (?:an? )?" + _GROUP,
    r"\bplease (?:re-?submit|submit|post|upload) (?:an? |the |it )?(?:new |initial )?draft-ietf-",
    r"\b(?:sufficient|strong|clear|enough|good|general|ample) (?:\w+ )?(?:support|interest)\b.{0,80}"
    r"\b(?:adopt\w*|proceed|publish\w*|move|advance|go ahead|accept|progress)\b",
    _WHO + r"(?:'ll| will| are going to|'re going to|'re| are) (?:\w+ )?"
    r"(?:go ahead|proceed|adopt(?:ing)?|accept(?:ing)?) (?:and|with|this|the|it|draft)\b",
    r"\bconsider (?:this|the|it)(?: \w+){0,3} (?:adopted|accepted|approved)\b",
    r"\b(?:draft|document) (?:will be|has been|is being|is) "
    r"(?:sent|forwarded|submitted|passed|advanced|moved) (?:to|on|forward)\b",
)
PUTS_OFF = Cue(
    "wait|hold|holding|postpone|postponed|defer|deferred",
    _WHO + r"(?:'re|'m|'ll| are| am| will| have| would like)?\b.{0,60}"
    r"\b(?:wait|hold(?:ing)? off|postpone|defer)\b",
    r"\b(?:call|decision|vote|adoption|question) (?:is|was|has been|will be) "
    r"(?:postponed|deferred|put on hold)\b",
)
_VOTED = r"(?:vote|votes|motion|poll|ballot)"
_OF_ANOTHER = r"(?<!last )(?<!previous )(?<!earlier )(?<!prior )(?<!other )(?<!old )(?<!next )(?<!new )"
_PASSES = Cue(
    "vote|votes|motion|poll|ballot|passed|passes|approved",
    rf"\b{_OF_ANOTHER}{_VOTED}\b(?: (?!is|for|on|to|the)\w+)?(?: has| have| is| was| are| were)?(?: been)?"
    r"(?: now)? "
    r"(?:pass(?:es|ed)|succe(?:eds|eded|ssful|ssfully)|carri(?:es|ed)|approved|accepted)\b",
    r"\bpass(?:es|ed) with .{0,30}(?:\+ ?1|\bvotes?\b|\bbinding\b)",
    r"\b(?:release|candidate|proposal) (?:is|was|has been) (?:now |hereby |therefore )?"
    r"(?:approved|accepted)\b",
)
_FAILS = Cue(
    "vote|votes|motion|poll|call|release|cancelled|canceled|cancelling|canceling|cancel|candidate|withdraw|"
    "withdrawing",
    rf"\b{_OF_ANOTHER}(?:vote|it|call|release|candidate|poll)\b.{{0,40}}\bcancell?ed\b",
    r"\bcancell?(?:ing|ed)? (?:this|the|my) (?:\w+ )?(?:vote|release|call|poll|candidate)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:(?:has|is|was|does|did)(?:n't| not)? )?(?:now |therefore |thus )?"
    r"(?:fail(?:s|ed)|void|withdrawn|defeated|rejected)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:does|did)(?:n't| not) (?:pass|carry|succeed)\b",
    r"\b(?:withdraw|withdrawing|abort|aborting|retract|retracting) (?:this|the|my) (?:\w+ )?"
    r"(?:vote|candidate|release candidate)\b",
    r"\bclos(?:e|ing) (?:this|the) (?:vote|call|poll) as (?:failed|cancell?ed|rejected)\b",
)
CLOSINGS = (_PASSES, _FAILS)
DECLINES = Cue(
    "adopted|accepted|approved|consensus|support|interest|adopt",
    r"\b(?:is|are|was|were|be|been|has been) (?:therefore |thus |hence )?not (?:be |been )?"
    r"(?:adopted|accepted|approved)\b",
    r"\b(?:no|not|without|lack of|isn't|n't)\b(?: \w+){0,3} consensus (?:to|for|on|in favou?r of) "
    r"(?:\w+ ){0,2}(?:adopt\w*|accept\w*)\b",
    r"\b(?:not|no|n't|isn't|wasn't)\b(?: \w+){0,4} (?:enough|sufficient) (?:\w+ )?(?:support|interest)\b",
    r"\b(?:insufficient|lack of|too little) (?:support|interest)\b",
    r"\b(?:won't|will not|not going to|decided not to|shall not) (?:\w+ )?(?:adopt|accept)\b",
)
WANTS_NEW_VERSION = Cue(
    "version|revision|draft|update|revise|address|addresses|addressing|id",
    r"\b(?:post|submit|publish|issue|upload|produce|prepare|provide|need|needs|await|awaiting|request|spin)"
    r"(?: (?:an?|the|one))?(?: \w+)? (?:new|updated|revised|next|another) (?:version|revision|draft)\b",
    r"\b(?:new|revised|updated|another) (?:version|revision|draft|i-?d) (?:is|will be) "
    r"(?:needed|required|necessary)\b",
    r"\bplease (?:\w+ )?(?:update|revise) (?:the|your|this) (?:draft|document|text)\b",
    r"\baddress(?:es|ing)? (?:the|all|all the|these|those) (?:\w+ ){0,3}"
    r"(?:comments?|issues?|remarks|concerns)\b",
)
UNOPPOSED = Cue(
    "concerns|concern|objections|objection|objected|opposed|complained|complaints|disagreed",
    r"\b(?:no-?one|nobody|no one) (?:has |had |seems to have )?(?:\w+ )?(?:had|raised|voiced|"
    r"expressed|any|objected|"
    r"opposed|complained|disagreed|objections?|concerns?)\b.{0,60}[,;]? (?:so|and) (?:i|we)(?:'ve|"
    r" have|'m| am)? (?:\w+ )?"
    r"(?:moved|went|gone|did|done|made|renamed|merged|committed|pushed|applied|removed|added|changed|completed|"
    r"switched|started|going|proceeded)\b",
    r"\b(?:(?:there (?:have been|were|are)|hearing|seeing|heard|with|having) no|as there were no|"
    r"without any) "
    r"(?:\w+ )?(?:objections?|concerns|complaints)\b.{0,40}[,;]? (?:so )?(?:i|we)(?:'ve| have) (?:\w+ )?"
    r"(?:moved|gone|done|made|renamed|merged|committed|pushed|applied|removed|added|changed|completed|switched|"
    r"started|proceeded)\b",
)
"""Who put it tells that nobody was against it, and that it is done."""
GOES_ON = Cue(
    "extend|extended|extending|reopen|reopened|continue|continues|restart|another|second|again|yet|open",
    r"\b(?:extend(?:ed|ing)?|re-?open(?:ed|ing)?|restart(?:ed|ing)?|continues?)\b|"
    r"\b(?:another|second) (?:\w+ )?call\b|\bcall again\b|\b(?:not|n't)\b.{0,60}\byet\b|\bstays? open\b",
)
ON_WHAT_TERMS = re.compile(
    r"\b(?:if|unless|once|until|when|should|would|could|might|may|hope|hopes|hoping|wish|expect|expected|want|"
    r"wants|whether|soon|can)\b"
)
"""Who says under which terms something ends, or hopes that it does, does not end it."""
_NOT = re.compile(r"n't\b|\b(?:not|never|hardly)\b")
HAPPY = re.compile(
    r"\b(?:no|without) (?:\w+ ){0,2}(?:objections?|opposition|concerns|dissent|comments|"
    r"one (?:objected|opposed)|other votes?|-1)\b"
)
"""Negations of somebody who sums up that nobody was against it."""


def closing_of(sentence: OwnSentence) -> str | None:
    """How a sentence ends a vote: `passed`, `cancelled`, or not at all."""
    if sentence.asks:
        return None
    folded = sentence.folded
    if (found := _FAILS.search(sentence)) and not ON_WHAT_TERMS.search(folded):
        return "cancelled"
    found = _PASSES.search(sentence)
    if found is None or _NOT.search(found[0]) or ON_WHAT_TERMS.search(folded[: found.end()]):
        return None
    return "passed"


def may_close(sentence: OwnSentence) -> bool:
    return _PASSES.finds(sentence) or _FAILS.finds(sentence)
