"""How a call or vote ends: passed, cancelled, turned down, passed on, put off, sent back."""

import re

from shared.domain.consensus.cues import CONDITION, NEGATION, REPORTED, RULES, Cue
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
_CONSENSUS = r"(?:\w+ ){0,2}consensus\b"
NO_CONSENSUS = Cue(
    "consensus",
    r"\b(?:there (?:is|was|has been)|there's|(?:i|we|chairs) (?:\w+ )?(?:see|find|found|have|hear|heard|"
    r"judge)|(?:this|it|thread|discussion|group|wg|call) (?:\w+ )?(?:has|had|have|reached|shows?|showed|"
    rf"found|brought)) (?:\w+ )?no {_CONSENSUS}",
    r"\b(?:there|i|we|chairs|this|it|thread|discussion|group|wg|call)"
    r"(?: (?:is|was|does|do|did|can|has|have))?(?:n't| not|not)"
    r"(?: (?:see|find|have|hear|reach|reached|be|been|yet|believe|think|that|there|is))*"
    rf" (?:a |any |enough )?{_CONSENSUS}",
    rf"^\W{{0,4}}(?:so |therefore |conclusion: ?|result: ?|outcome: ?)?no {_CONSENSUS}",
    rf"\b(?:lack|absence) of {_CONSENSUS}|\bfail(?:s|ed) to (?:reach|find|achieve|gather) {_CONSENSUS}|"
    rf"\bconsensus (?:was|has|is|could)(?: ?n't| not|not) (?:been |be )?(?:reached|found|achieved|there)\b",
)
"""Who closes says that there is none."""
_TEXT = r"(?:document|draft|draft-\S{1,80}|specification|spec|text|charter|patch|series|release|proposal)"
NOT_READY = Cue(
    "ready",
    rf"\b{_TEXT} (?:is|was) (?:therefore |thus |clearly |still )?not (?:yet |quite )?ready\b",
    rf"\b{_TEXT} (?:isn't|wasn't) (?:yet |quite )?ready\b",
    r"\b(?:chairs|we|i) (?:\w+ )?(?:do not|don't) (?:think|believe|consider|find|judge) (?:that )?"
    rf"(?:the|this) {_TEXT}(?: is|'s| to be)? (?:yet )?ready\b",
)
"""Who closes a call for it says that it has to wait."""
DECIDES = Cue(
    "decision|closing",
    r"^\W{0,4}(?:the )?decision(?: (?:for|on|of|in) [^:]{1,60})?(?:: | is (?:that|to) )\w",
    r"^\W{0,4}(?:(?:i am|i'm|we are|we're) )?(?:now |hereby |therefore )?closing (?:this|the) (?:\w+ ){0,3}"
    r"(?:call|wglc|poll|discussion|thread|question|issue)\b",
)
HAS_DECIDED = Cue(
    "decided|concluded|determined",
    r"\b(?:i|we|chairs) (?:have |has )?(?:now |therefore |thus )?(?:decided|concluded|determined)\b",
)
"""By one with a role: what is decided the sentence itself tells."""
IN_PERSON = re.compile(
    r"\bhats? (?:is |are )?off\b|\bno hats?\b|\bwithout (?:any |my )?(?:\w+ )?hats?\b|"
    r"\bas an? (?:individual|participant|contributor|implementer|co-?author)\b|"
    r"\b(?:speaking )?(?:personally|for myself)\b|\bnot (?:speaking )?as (?:the |a )?(?:co-?)?chair\b"
)
"""Who has a role and says that they speak without it."""
CLOSES = re.compile(
    r"\b(?:call|wglc|poll|discussion|thread|question)\b.{0,40}\b(?:closed|concluded|ended|completed?|over|"
    r"finished)\b|\bconcludes the\b|\b(?:closing|i(?:'ll| will)? close|we(?:'ll| will)? close) (?:this|the) "
    r"(?:\w+ ){0,3}(?:call|wglc|poll|discussion|thread|question)\b"
)
_NUMBER = (
    r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty|a dozen)"
)
_SIDE = (
    r"(?:support\w*|(?:were |was |are |is )?(?:in favou?r|for|against|opposed)|oppos\w+|object\w*|want\w*|"
    r"agree\w*|disagree\w*|prefer\w*|spoke|voted|approve\w*|say yes|said yes|say no|said no)"
)
TALLY = Cue(
    "support|supports|supported|supporting|supportive|supporters|favour|favor|for|against|opposed|oppose|"
    "opposes|opposing|opposition|objected|object|objects|objections|objection|want|wants|wanted|agree|agrees|"
    "agreed|disagree|prefer|prefers|preferred|spoke|voted|approve|yes|no|+1|-1",
    rf"\b{_NUMBER} (?:\w+ ){{0,2}}?(?:people|persons|participants|members|individuals|respondents|"
    rf"contributors|voices|implementers|of (?:you|them|us))(?: \w+){{0,3}}? {_SIDE}\b",
    rf"\b{_NUMBER} (?:\w+ )?(?:(?:for|in favou?r|in support|supporting|support)\b|\+ ?1)[^.;]{{0,40}}"
    rf"\b{_NUMBER} (?:\w+ )?(?:(?:against|opposed|opposing|objecting|objections?)\b|- ?1)",
    rf"\b{_NUMBER} (?:\w+ )?(?:expressions?|statements?|messages?|mails|replies|responses|voices|votes) "
    rf"(?:\w+ )?(?:of support|in support|in favou?r|for|against)\b",
)
"""How many stand where, by somebody's count."""
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


def settles_it(sentence: OwnSentence) -> bool:
    """Whether it says how something was settled, whoever writes it: agreed, decided, adopted."""
    if sentence.asks or REPORTED.finds(sentence) or CONDITION.finds(sentence) or NEGATION.finds(sentence):
        return False
    return DECIDES.finds(sentence) or (RULES.finds(sentence) and not CLOSES.search(sentence.folded))


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
