"""How a call or vote ends: passed, cancelled, turned down, passed on, put off, sent back."""

import re

from shared.domain.consensus.cues import Cue
from shared.domain.consensus.own_sentences import OwnSentence

_WHO = r"\b(?:i|we|chairs)"
_GROUP = r"(?:draft-ietf-|(?:wg|working group) (?:draft|document|item))"
ADVANCES = Cue(
    "push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|requested|request|"
    "advancing|moving|sending|resubmit|post|upload|support|interest|ahead|proceed|adopt|accept|adopting|"
    "accepting|consider|forwarding|submitting|requesting|progressing|advanced|moved|passed|going|goes|moves|ready",
    _WHO + r"(?:'ll| will|'m going to| am going to| are going to|'re going to| have|'ve)? (?:now |then )?"
    r"(?:push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|request|requested) "
    r"(?:(?:the|this|it|them|that|draft-\S{1,80}) ?(?:draft|document|publication|spec\w*|text)?) ?"
    r"(?:to(?:wards?)?|forward|on|for|of|up)\b",
    r"\b(?:re-?submit|submit|post|upload)\b.{0,60}\bas (?:an? )?" + _GROUP,
    r"\bplease (?:re-?submit|submit|post|upload) (?:an? |the |it )?(?:new |initial )?draft-ietf-",
    r"\b(?:sufficient|strong|clear|enough|good|general|ample) (?:\w+ )?(?:support|interest)\b.{0,80}"
    r"\b(?:adopt\w*|proceed|publish\w*|move|advance|go ahead|accept|progress)\b",
    _WHO + r"(?:'ll| will| are going to|'re going to|'re| are) "
    r"(?:(?!consider|think|discuss|debat|look|not)\w+ )?"
    r"(?:go ahead|proceed|adopt(?:ing)?|accept(?:ing)?) (?:and|with|this|the|it|draft)\b",
    r"\bconsider (?:this|the|it)(?: \w+){0,3} (?:adopted|accepted|approved)\b",
    _WHO + r"(?:'m| am|'re| are) (?:now |therefore )?"
    r"(?:sending|forwarding|submitting|moving|advancing|progressing|passing) "
    r"(?:the|this|it|them|draft-\S{1,80}) ?(?:draft|document)? ?(?:to(?:wards?)?|forward|on|up)\b",
    _WHO + r"(?:'m| am|'re| are) (?:now |therefore )?requesting (?:the )?publication\b",
    r"\b(?:draft|document) (?:is going|goes|moves|now moves) (?:on )?to the (?:iesg|ad|area directors?|"
    r"rfc editor)\b",
    r"\b(?:chairs|we) (?:\w+ )?(?:believe|think|consider|conclude|find)\b.{0,40}\b(?:is|are) (?:now )?ready "
    r"(?:to go|for|to be|to progress|to move|to advance)\b.{0,20}\b(?:iesg|publication|advance\w*|forward|"
    r"sent)\b",
    r"\b(?:draft|document|it) (?:has |have )?passed (?:the )?(?:wg |working group )?(?:last call|wglc)\b|"
    r"\bwglc (?:has |is )?passed\b",
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
    "vote|votes|motion|poll|ballot|passed|passes|approved|promote|promoting|publish",
    rf"\b{_OF_ANOTHER}{_VOTED}\b(?: (?!is|for|on|to|the)\w+)?(?: has| have| is| was| are| were)?(?: been)?"
    r"(?: now)? "
    r"(?:pass(?:es|ed)|succe(?:eds|eded|ssful|ssfully)|carri(?:es|ed)|approved|accepted)\b",
    r"\bpass(?:es|ed) with .{0,30}(?:\+ ?1|\bvotes?\b|\bbinding\b)",
    r"\b(?:release|candidate|proposal) (?:is|was|has been) (?:now |hereby |therefore )?"
    r"(?:approved|accepted)\b",
    rf"\b{_OF_ANOTHER}vote (?:is |has been )?(?:now )?closed with (?:\d+|three|four|five|six|enough) "
    r"(?:binding )?(?:\+ ?1|votes?)",
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'m| am|'ve| have) (?:now |then )?"
    r"(?:promot(?:e|ing|ed)|publish(?:ing|ed)?) (?:the|all|these) (?:\w+ )?artifacts?\b[^,;]{0,60}$",
    r"^\W{0,4}passed[.! ]*$",
)
_SELF = r"(?:\b(?:i|we)(?:'ll| will|'m| am|'re| are)(?: going to)?|\blet(?:'s| me))"
_CANDIDATE = r"(?:rc ?\d*|(?:release )?candidate)\b"
_FAILS = Cue(
    "vote|votes|motion|poll|call|release|cancelled|canceled|cancelling|canceling|cancel|candidate|withdraw|"
    "withdrawing|respin|respinning|re|reroll|rerolling|rolling|roll|restage|rc",
    rf"\b{_OF_ANOTHER}(?:vote|it|call|release|candidate|poll)\b.{{0,40}}\bcancell?ed\b",
    r"\bcancell?(?:ing|ed)? (?:this|the|my) (?:\w+ )?(?:vote|release|call|poll|candidate)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:(?:has|is|was|does|did)(?:n't| not)? )?(?:now |therefore |thus )?"
    r"(?:fail(?:s|ed)|void|withdrawn|defeated|rejected)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:does|did)(?:n't| not) (?:pass|carry|succeed)\b",
    r"\b(?:withdraw|withdrawing|abort|aborting|retract|retracting) (?:this|the|my) (?:\w+ )?"
    r"(?:vote|candidate|release candidate)\b",
    r"\bclos(?:e|ing) (?:this|the) (?:vote|call|poll) as (?:failed|cancell?ed|rejected)\b",
    rf"{_SELF} (?:\w+ (?:it |this )?and )?(?:re-?spin(?:ning)?|re-?roll(?:ing)?|re-?stag(?:e|ing))\b",
    rf"{_SELF} (?:cancel|stop|drop|pull|abort)(?:l?ing|ping)? (?:and|(?:this|the|that|my) (?:\w+ )?"
    r"(?:vote|one|release|candidate|rc)\b)",
    r"^\W{0,4}(?:(?:ok(?:ay)?|right|thanks|good catch|so)[,.! ]+)?(?:cancell?ing(?=[,.;!]| and\b)|"
    rf"(?:i'm |i am |let me )?(?:rolling|respinning) (?:an? |the |another )?(?:new |next )?{_CANDIDATE})",
    rf"{_SELF} roll(?:ing)? (?:back )?(?:an? |the |another )(?:new |next )?(?:{_CANDIDATE}|release)",
    r"\b(?:vote|it) (?:did(?:n't| not)|does(?:n't| not)) (?:get|have|reach|receive) enough (?:binding )?"
    r"(?:\+ ?1|votes?)",
    rf"\bclosing {_OF_ANOTHER}(?:this|the) vote\b.{{0,30}}\b(?:not|n't) (?:\w+ )?enough (?:binding )?votes\b",
)
CLOSINGS = (_PASSES, _FAILS)
DECLINES = Cue(
    "adopted|accepted|approved|consensus|support|interest|adopt",
    r"\b(?:is|are|was|were|be|been|has been) (?:therefore |thus |hence )?not (?:be |been )?"
    r"(?:adopted|accepted|approved)\b",
    r"(?:\b(?:no|not|without|lack of)|n't)\b(?: \w+){0,3} consensus (?:to|for|on|in favou?r of) "
    r"(?:\w+ ){0,2}(?:adopt\w*|accept\w*)\b",
    r"(?:\b(?:not|no)|n't)\b(?: \w+){0,4} (?:enough|sufficient) (?:\w+ )?(?:support|interest)\b",
    r"\b(?:no|little|hardly any) (?:\w+ )?(?:support|interest) (?:for|to|in) (?:\w+ ){0,2}adopt\w*\b",
    r"\bnot going to be (?:adopted|accepted)\b",
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
    r"(?:moved|went|gone|did|done|made|renamed|merged|committed|pushed|applied|removed|added|changed|"
    r"completed|"
    r"switched|started|going|proceeded)\b",
    r"\b(?:(?:there (?:have been|were|are)|hearing|seeing|heard|with|having) no|as there were no|"
    r"without any) "
    r"(?:\w+ )?(?:objections?|concerns|complaints)\b.{0,40}[,;]? (?:so )?(?:i|we)(?:'ve| have) (?:\w+ )?"
    r"(?:moved|gone|done|made|renamed|merged|committed|pushed|applied|removed|added|changed|completed|"
    r"switched|"
    r"started|proceeded)\b",
)
"""Who put it tells that nobody was against it, and that it is done."""
GOES_ON = Cue(
    "extend|extended|extending|reopen|reopened|continue|continues|restart|another|second|again|yet|open",
    r"\b(?:extend(?:ed|ing)?|re-?open(?:ed|ing)?|restart(?:ed|ing)?|continues?)\b|"
    r"\b(?:another|second) (?:\w+ )?call\b|\bcall again\b|\b(?:not|n't)\b.{0,60}\byet\b|\bstays? open\b",
)
ON_WHAT_TERMS = re.compile(
    r"\b(?:if|unless|once|until|when|should|would|could|might|may|hope|hopes|hoping|wish|expect|expected|"
    r"want|"
    r"wants|whether|soon|can)\b"
)
"""Who says under which terms something ends, or hopes that it does, does not end it."""
_NO = re.compile(r"n't\b|\b(?:not?|never|hardly|without|rather)\b")
_CLAUSE_END = re.compile(r"[,;:.!]")
_NOT = re.compile(r"n't\b|\b(?:not|never|hardly)\b")
HAPPY = re.compile(
    r"\b(?:no|without) (?:\w+ ){0,2}(?:objections?|opposition|concerns|dissent|comments|issues|"
    r"one (?:objected|opposed)|other votes?|-1)\b"
)
"""Negations of somebody who sums up that nobody was against it."""


def closing_of(sentence: OwnSentence) -> str | None:
    """How a sentence ends a vote: `passed`, `cancelled`, or not at all."""
    if sentence.asks:
        return None
    folded = sentence.folded
    if (found := _FAILS.search(sentence)) and not ON_WHAT_TERMS.search(folded):
        # "No reason to cancel the vote": what is denied before it, in the same clause, is not done.
        return None if _NO.search(_CLAUSE_END.split(folded[: found.start()])[-1]) else "cancelled"
    found = _PASSES.search(sentence)
    if found is None or _NOT.search(found[0]) or ON_WHAT_TERMS.search(folded[: found.end()]):
        return None
    return "passed"


def may_close(sentence: OwnSentence) -> bool:
    return _PASSES.finds(sentence) or _FAILS.finds(sentence)
