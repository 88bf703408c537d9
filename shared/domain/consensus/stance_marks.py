"""Marks of a stance that are no verb in the first person: "+1", "LGTM", "no objection", "not ready"."""

import re
from dataclasses import dataclass

from shared.domain.consensus.models import Stance

DECIDED, SAID, HINTED = 3, 2, 1
"""How strongly it speaks: about the proposal; agreeing or disagreeing; by a manner of speaking."""


@dataclass(frozen=True, slots=True)
class StanceMark:
    cue: str
    stance: Stance
    strength: int
    pattern: re.Pattern[str]
    is_relative: bool = False
    """Towards what is answered, rather than towards the proposal."""


TARGET = (
    # Each word in one way only: two ways for one word are 2^n ways for n of them.
    r"(?:\s+(?:of|to|for|with|that|the|this|an?|its?|us|any|in|on|such|moving|your|our|wg|working"
    r" group|\S+'s))*"
    r"\s*\b(?:adopt\w*|publi\w+|progress\w*|advanc\w+|drafts?|document|proposal|proposed|charter\w*|work"
    r"|item|last call"
    r"|wglc|text|changes?|changing|patch|series|pr|pull request|merg\w+|spec\w*|idea|approach|option"
    r"|direction|plan"
    r"|forward|adding|removing|making|resolution|motion|milestone|doing|this|it)\b"
)
"""What follows a stance towards the proposal itself."""

_LEAD = (
    r"^\s*(?:(?:yes|no|ok|okay|well|so|and|but|also|fwiw|imh?o|for what it's worth|a big|a strong"
    r"|huge|big"
    r"|strong|definitely)[ ,.:-]+){0,4}"
)
_CLOSE = r"(?=\s*(?:$|[.,!;:)\n-]))"
_DOCUMENT = (
    r"(?:this|that|it|(?:the|this) (?:\w+[ -]){0,3}?(?:draft|document|proposal|spec\w*|work|text|patch"
    r"|series|change"
    r"|charter|version)|draft-\S+|we)"
)
_MY_ISSUE = r"my (?:\w+ )?(?:objections?|concerns?|discuss|issues?|worries|comments?|points?)"
_ISSUE = r"(?:objections?|problems?|issues?|concerns?|qualms|reservations?|complaints?)"
_GRAVE = r"(?:serious|strong|grave|major|fundamental|significant|severe)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_WITHDRAWN = _any(
    rf"\bwithdr(?:aw|ew|awing|awn) {_MY_ISSUE}",
    rf"\b{_MY_ISSUE} (?:\w+ ){{0,3}}?(?:resolved|addressed|withdrawn|satisfied|answered|fixed|gone)\b",
)
_NO_OPINION = _any(
    r"\bneither (?:support|agree|for|in favou?r)\w* nor (?:oppos|object|disagree|against)\w*",
    r"\bno (?:strong |particular |firm |real )*(?:opinion|feelings?|preference|view)s?\b",
    r"\b(?:i'm|i am|we're|we are|remain|staying) neutral\b",
    r"\b(?:i|we) abstain\b",
    r"\babstain(?:ing)?\.?$",
    r"\b(?:don't|do not) (?:really )?(?:mind|care)\b",
    r"\beither (?:way|option|one)? ?(?:is|works|would be) (?:fine|ok|okay|good)\b",
    r"\bfine either way\b",
    r"\bindifferent\b",
    r"^\s*[+-]0\b",
)
_NO_OBJECTION = _any(
    rf"\b(?:i|we)(?:'ve| have| see| do not have| don't have| had)? (?:no|any|zero)(?: \w+){{0,2}} {_ISSUE}\b",
    rf"{_LEAD}no(?: \w+)?? {_ISSUE}(?=\s*(?:$|[.,!;]|from me|here|to|with|on my|at all))",
    r"\bwithout objection from me\b",
    r"\bcan(?: certainly| also)? live with\b",
    rf"\b(?:don't|do not) (?:see|have) (?:a|any|an)(?: \w+)? {_ISSUE}\b",
    r"\bnot (?:opposed|against|object)\b(?= to|\s*[.,!]|$)",
)
_HAS_OBJECTION = _any(
    r"\b(?:i|we)(?:'ve| have| do have| still have| continue to have| raise| maintain| am raising)"
    rf"(?: (?:a|an|some|several|my|{_GRAVE}|big|formal|the following)){{0,3}} objections?\b",
    r"\bmy objections? (?:is|are|stands?|remains?|still)\b",
    r"\b(?:register|record|voice|raise|repeat|reiterate|express|state|note) my (?:\w+ )?(?:objection"
    r"|opposition)s?\b",
    r"\bi (?:fully |also |strongly )?share (?:the|these|those|this|your|\w+'s) (?:\w+ )?(?:concern"
    r"|objection|worr(?:y|ie))s?\b",
    r"\b(?:i'm|i am) not a (?:big |huge |great )?fan of\b|\bi vote (?:no|against)\b",
    rf"\b(?:i|we)(?:'ve| have| still have)(?: (?:some|several|very|many))* {_GRAVE} "
    r"(?:concerns?|reservations|problems?|issues?)\b",
    r"\bcan(?:not|'t) live with\b",
)
_THINKS_NOT = _any(
    rf"\b(?:i|we) (?:don't|do not) (?:think|believe|feel)(?: that)? {_DOCUMENT} (?:should|makes? sense"
    rf"|works?|belongs?)\b",
    rf"\b(?:i|we) (?:don't|do not) (?:think|believe|feel)(?: that)? {_DOCUMENT}(?:'s| is| are) (?:yet "
    rf"|quite |really )?"
    r"(?:ready|a good idea|the right|right|acceptable|appropriate|needed|necessary|wise|mature|useful)\b",
    r"\b(?:i|we) (?:don't|do not) think so\b",
)
_NOT_READY = _any(
    rf"\b{_DOCUMENT} (?:is|are)(?:n't| not)(?: yet| quite| really)? ready\b",
    r"\bnot (?:yet )?ready (?:for|to be) (?:publi|adopt|last call|iesg|ship|merge)\w*",
    r"\bshould(?:n't| not) (?:be )?(?:adopt|publish|advance|merge|progress|accept)\w*",
)
_READY = _any(
    rf"\b{_DOCUMENT} (?:is|are|looks|seems) (?:\w+ly |now |definitely |in good shape and )?ready\b(?!"
    rf" (?:if|when|once))",
    r"\bready (?:for|to be) (?:publication|published|adopted|adoption|the iesg|wglc|shipp?\w*)",
    r"\b(?:wg|we|group) should (?:definitely |certainly )?adopt\b",
    r"\bplease (?:adopt|publish|ship|merge) (?:this|it|the)\b",
    r"\bship it\b",
    r"\b(?:my|express|voice|state) (?:\w+ )?support (?:for|to|of)\b|\bi vote (?:yes|in favou?r|for)\b",
)
# A phone number starts with +1, too, and a byte count or an index may.
_PLUS_ONE = _any(
    rf"{_LEAD}\+\s?1\b(?! ?[-(]?\d)(?!\.\d)(?! (?:byte|bit|octet|day|hour|week|month)s?\b)",
    r":\+1:|👍",
    r"\b(?:big|strong|another|my) \+1\b(?! ?\d)",
    r"\+1 from (?:me|us|here)\b|\b(?:i'm|i am) \+1\b",
    r"[.,!] \+1[.!]?$",
)
_MINUS_ONE = _any(
    rf"{_LEAD}-\s?1(?=\s*(?:$|[.,!;]|\n\s*[a-z]|:\s+[a-z]|(?:to|on|for|from|as|because|until|unless)\b))",
    r":-1:|👎",
    r"\b(?:big|strong|another|my) -1\b",
    r"(?<!\S)-1 from (?:me|us)\b|\b(?:i'm|i am) -1\b",
)
_APPROVES = _any(
    rf"{_LEAD}(?:lgtm|sgtm|wfm|works for me|sounds (?:very |really )?(?:good|great|fine|reasonable)"
    r"|looks (?:very |really |all )?(?:good|great|fine|ok|okay)|seconded|ditto|me too|same here|great idea"
    r"|good idea"
    r"|excellent idea|makes (?:perfect )?sense)\b(?! (?:if|as long)\b)",
    r"\blgtm\b",
    r"\b(?:works for me|looks good to me|sounds good to me|fine by me|fine with me|ok(?:ay)? (?:by|with)"
    r" me)\b",
    r"\b(?:you have my support|gets my (?:vote|support))\b",
    r"\bcount me (?:in|as (?:supporting|in favou?r))\b",
    r"\bput me down (?:as|for) (?:support|yes|in favou?r)\w*",
)
_AGREED = _any(
    rf"{_LEAD}(?:\w+ly )?agreed(?=\s*(?:$|[.,!;\n-]|(?:with|completely|entirely|too|but|and)\b))",
    r"[,-] agreed[.!]?$",
)
_YOU_ARE_RIGHT = _any(
    r"\b(?:you|he|she|\w+)(?:'re| are|'s| is) (?:\w+ly |quite )?(?:right|correct)(?=\s*(?:$|[.,!;]|that\b"
    r"|about\b))(?!\?)",
    rf"{_LEAD}(?:exactly|indeed|precisely){_CLOSE}",
    r"\bgood point\b",
)
_BAD_IDEA = _any(
    rf"{_LEAD}(?:bad|terrible|horrible|awful) idea\b",
    r"\b(?:this|that|it)(?:'s| is| seems| would be| sounds like) an? (?:\w+ly )?(?:bad|terrible|horrible"
    r"|awful|poor) "
    r"(?:idea|choice|proposal)\b",
    r"\b(?:this|that|it) (?:makes no|does not make(?: any)?|doesn't make(?: any)?) sense\b",
    r"\bstrong(?:ly)? no\b|\bhard no\b",
)
_CONCERN = _any(
    r"\b(?:i'm|i am|we're|we are|i'd be) (?:(?:\w+ly|a bit|a little|very|quite|still) )*"
    r"(?:concerned|worried|skeptical|sceptical|wary)\b",
    r"\b(?:i|we) (?:still )?have (?:a|some|several|one|two|a few) (?:\w+ )?(?:concerns?|reservations?"
    r"|doubts|worries)\b",
    r"\bmy (?:main |only |biggest )?concern\b",
)
_UNSURE = _any(
    r"\b(?:i'm|i am|we're|we are) (?:(?:\w+ly|a bit|a little|very|quite|still) )*"
    r"(?:not sure|unsure|uncertain|on the fence|undecided|torn)\b",
)

MARKS = (
    StanceMark("objection withdrawn", Stance.NEUTRAL, DECIDED, _WITHDRAWN),
    StanceMark("no opinion", Stance.NEUTRAL, DECIDED, _NO_OPINION),
    StanceMark("no objection", Stance.NEUTRAL, DECIDED, _NO_OBJECTION),
    StanceMark("has an objection", Stance.OBJECTION, DECIDED, _HAS_OBJECTION),
    StanceMark("does not think so", Stance.OBJECTION, SAID, _THINKS_NOT),
    StanceMark("not ready", Stance.OBJECTION, DECIDED, _NOT_READY),
    StanceMark("ready", Stance.SUPPORT, DECIDED, _READY),
    StanceMark("+1", Stance.SUPPORT, DECIDED, _PLUS_ONE, is_relative=True),
    StanceMark("-1", Stance.OBJECTION, DECIDED, _MINUS_ONE, is_relative=True),
    StanceMark("approves", Stance.SUPPORT, SAID, _APPROVES, is_relative=True),
    StanceMark(
        "ack",
        Stance.SUPPORT,
        DECIDED,
        _any(rf"{_LEAD}(?:acked-by:.*|reviewed-by:.*|ack{_CLOSE})"),
        is_relative=True,
    ),
    StanceMark(
        "nack", Stance.OBJECTION, DECIDED, _any(rf"{_LEAD}(?:nacked-by:.*|nac?k{_CLOSE})"), is_relative=True
    ),
    StanceMark("agreed", Stance.SUPPORT, SAID, _AGREED, is_relative=True),
    # Right about something: that alone is no support for the proposal.
    StanceMark("you are right", Stance.UNCLEAR, HINTED, _YOU_ARE_RIGHT, is_relative=True),
    StanceMark("bad idea", Stance.OBJECTION, SAID, _BAD_IDEA, is_relative=True),
    StanceMark(
        "yes",
        Stance.SUPPORT,
        HINTED,
        _any(r"^\s*(?:yes|yep|yup|aye)(?:,? please)?\s*[.!]*$"),
        is_relative=True,
    ),
    StanceMark(
        "no",
        Stance.OBJECTION,
        HINTED,
        _any(r"^\s*(?:no|nope|nay|no way|no thanks|absolutely not|please don't|not really)\s*[.!]*$"),
        is_relative=True,
    ),
    StanceMark("concern", Stance.UNCLEAR, SAID, _CONCERN),
    StanceMark("unsure", Stance.UNCLEAR, SAID, _UNSURE),
)
"""The more exact first: of two that overlap, the earlier in this table counts."""
