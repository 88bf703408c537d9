"""How a chair ends a call without the word "consensus": goes ahead with it, or puts the question off."""

from shared.domain.consensus.cues import Cue

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
