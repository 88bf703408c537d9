"""Reads what a role holder says came of a call: for the proposal, against it, or an option.

The words "consensus" and "decision" show no direction. "The consensus is to keep it" rejects a removal, so
each decision is compared with the proposal.
"""

import re
from enum import StrEnum

from shared.reading.cues import CLOSES, CONDITION, NEGATION, REPORTED, Cue, at_word
from shared.reading.mails import OwnSentence
from shared.reading.proposal import acts_in
from shared.reading.stances import KEEPS_WHAT, UNDOES


class Ruling(StrEnum):
    """The direction of a ruling, seen from the proposal."""

    FOR = "for"
    AGAINST = "against"
    NONE = "none"
    """There is no consensus for the proposal."""
    CHOSEN = "chosen"
    """One of the proposed options."""
    UNKNOWN = "unknown"


_GROUP = r"(?:working group|wg|group|task force|committee|community|list|council|project|board|pmc)"
_CALL = (
    r"(?:cfc|call(?: for (?:consensus|adoption|votes?))?|(?:wg |working group )?last call|wglc|motion|"
    r"resolution|ballot|poll|proposal|amendment|referendum|general resolution|gr)"
)
_STANDS = r"(?: (?:has|have|is|was|are|were|now|hereby|therefore|thus|also|just|all|duly|been|formally)){0,4}"
_TEXT = (
    r"(?:document|draft|draft-\S{1,80}|i-d|internet-draft|specification|spec|text|charter|patch|series|release|proposal|pep|rfc|"
    r"item|work|motion|resolution|amendment|request|change|report|cfc|dep|nomination|feature)"
)
_CLOSING_TRIGGERS = (
    "consensus|agreed|decided|resolved|resolution|concluded|determined|decision|decide|outcome|result|"
    "conclusion|pass|passes|passed|carries|carried|carry|fails|failed|fail|adopted|adopting|adopt|adoption|"
    "accepted|accepting|accept|approved|rejected|rejecting|declined|prefers|preferred|go|going|wins|won|"
    "selected|chosen|chose|energy|take|withdrawn|withdrawing|withdraw|support|published|want|wants|reach|"
    "returned|approve|pronounce|dissent|objections|agreement"
)
_FAILS = Cue(
    _CLOSING_TRIGGERS,
    rf"\b{_CALL}\b{_STANDS} (?:failed|fails|rejected|defeated|withdrawn|not (?:approved|accepted|carried|"
    r"passed|successful))\b",
    rf"\b{_CALL}\b(?: has| did| does| have)?(?: ?n't| not) (?:\w+ )?(?:pass(?:ed)?|carry|carried|"
    rf"succeed(?:ed)?|"
    r"(?:reach(?:ed)?|have|show|achieve|get|gain|find) (?:\w+ ){0,2}(?:consensus|agreement))\b",
    rf"\b{_TEXT} (?:did|does|has)(?: ?n't| not) pass(?:ed)?\b",
    r"\bfail(?:s|ed)? to (?:show|demonstrate|establish|get|gain|garner|attract) (?:\w+ ){0,3}"
    r"(?:consensus|support|agreement)\b",
    rf"\b(?:i am|i'm|we are|we're|i|we|chairs)(?: am| are| now| hereby| therefore| have){{0,2}} (?:withdraw|"
    rf"withdrawing|withdrawn|rejecting|reject|rejected|declining|decline) (?:(?:this|the|my|"
    rf"our) )?(?:\w+ ){{0,2}}(?:{_CALL[3:-1]}|{_TEXT[3:-1]})\b",
    rf"\b{_TEXT}\b(?: is| was| has been| have been| will be| are)(?: hereby| therefore| thus| now|"
    r" being){0,2} (?:rejected|declined|withdrawn|turned down|deferred indefinitely|"
    r"returned to the (?:working group|wg))\b",
    rf"\b{_TEXT}\b (?:is|was|will|has|are)(?: ?n't| not)(?: going to)?(?: therefore| yet| currently)?"
    r"(?: be| been| being)? (?:adopted|accepted|approved|published|advanced|progressed)\b",
    r"\b(?:we|i|chairs)(?: are|'re| am|'m| have| will|'ll)?(?: ?n't| not|'t)(?: be| been)? "
    r"(?:adopt(?:ing|ed)?|accept(?:ing|ed)?|publish(?:ing|ed)?|advanc(?:e|ing|ed)|approv(?:e|ing|ed)) "
    r"(?:this|the|it|draft)\b",
    rf"\b{_GROUP} (?:does not|doesn't|do not|did not|didn't) (?:want|wish|support|agree|intend)\b"
    r"(?! on)(?: \w+){0,3}",
    r"\b(?:not|isn't|no|insufficient|little|lack of)(?: \w+){0,2} (?:energy|interest|support|agreement|"
    rf"appetite)\b(?: \w+){{0,5}} (?:{_GROUP[3:-1]}|adopt\w*|publi\w*|proceed|pursue|take|this|the)\b",
    r"^\W{0,4}(?:(?:the )?(?:outcome|result|status|resolution|decision)(?: of (?:the|this) [\w ]{1,40})?"
    r"(?: is)?[:=]? (?:- )?)(?:not (?:adopted|accepted|approved|passed)|rejected|declined|failed|no "
    r"consensus)\b",
    r"\bconsensus (?:to \w+ |for \w+ |on \w+ )?(?:has|was|could|is)(?: ?n't| not) (?:been |be )"
    r"?(?:reached|found|achieved)\b",
)
_PASSES = Cue(
    _CLOSING_TRIGGERS,
    rf"\b{_CALL}\b{_STANDS} (?:passe[sd]|carries|carried|approved|adopted|accepted|succeeded|succeeds|"
    rf"agreed)\b",
    rf"\b{_TEXT}\b(?: \S{{0,20}}\d\S{{0,20}})?{_STANDS} (?:adopted|accepted|approved|agreed)\b",
    r"\b(?:i|we|chairs)(?: have|'ve| am| are|'m|'re)?(?: now| hereby| therefore| thus| also){0,2} "
    rf"(?:adopted|accepted|accepting|approved|adopting|approving|adopt|accept|approve) (?:(?:this|the|"
    rf"your) )?(?:\w+ )?{_TEXT}\b",
    r"\b(?:this|it|that)(?: is|'s)(?: now| hereby| therefore){0,2} (?:approved|accepted|adopted|agreed|"
    rf"(?:an? |the )?(?:formal )?(?:decision|resolution) of the (?:\w+ )?{_GROUP})\b",
    r"^\W{0,4}(?:(?:the )?(?:outcome|result|status|resolution|decision)(?: of (?:the|this) [\w ]{1,40})?"
    r"(?: is)?[:=]? (?:- )?)(?:adopted|accepted|approved|passed|carried|agreed)\b",
    rf"\b{_CALL}\b.{{0,60}}\bwith (?:agreement|consensus|approval)\b",
    rf"\b{_CALL}\b{_STANDS} (?:successfully (?:completed|concluded|ended)|(?:completed|concluded|"
    r"ended) successfully|successful)\b",
)
RULES = Cue(
    "declare|declared|consensus|call|adopted|accepted|approved|agreed|publication|vote|closed|concluded|wglc|"
    "poll|concludes|becomes|become|adopt|adopts|item|group|ended|completed|finished|"
    "chairs|decided|resolved|passed|passes|request|shepherd|wg|conclude|decision|resolution",
    at_word(
        r"(?:hereby|i|we|chairs) declare\b|declare (?:\S{1,120} )?(?:a wg|consensus|adopted)\b",
        r"(?:i|we|chairs|there)(?:'ve got| have got| (?:is|see|sees|have|believe|think|judge|"
        r"conclude|consider|do see|do have|believe we have|believe there is|think there is|think we have))"
        r"(?: that| there is| we have)* (?:\w+ ){0,3}(?:rough )?consensus\b",
        r"(?:rough )?consensus (?:is|was|seems|appears)(?: to be| that| to| for| clear| reached)?\b",
        r"(?:call|wglc|poll) (?:\w+ ){0,4}(?:is now|has|is|was|now)"
        r" (?:been |now )?(?:closed|concluded|ended|completed?|over|finished)\b",
        r"(?:call|wglc|poll) (?:concluded|ended|completed|finished)\b",
        r"(?:this|that) (?:now )?concludes the (?:\w+ ){0,3}(?:call|wglc|poll)\b",
        r"(?:document|draft|draft-\S{1,80}|proposal|item|charter) (?:is|has been|was|are|will be|will now be)"
        r" (?:now |hereby |therefore |thus )?(?:adopted|accepted|approved)\b",
        r"(?:document|draft|draft-\S{1,80})"
        r" (?:is|has become|becomes) (?:now )?an? (?:wg|working group) (?:document|item|draft)\b",
        r"(?:chairs|i|we) (?:have |has )?(?:decided|agreed) to (?:adopt|accept|publish)\b",
        r"(?:it was|was|were|is|are) (?:\w+ )?agreed\b(?: (?:to|that|on|in|by)|[.;]|$)",
        r"we (?:have )?(?:agreed|decided) (?:to|on|that)\b",
        r"publication (?:has been |is |was )?requested\b|request(?:ed|ing)? (?:the )?publication\b",
        r"(?<!other )(?<!other working )"
        r"(?:wg|working group|group) (?:has |have )?(?:agreed|adopted|decided|resolved|concluded)\b",
        r"(?<!other )(?:wg|working group) adopts (?:this|the|draft)\b",
        r"vote (?:has |is )?(?:now )?(?:pass(?:es|ed)|fail(?:s|ed)|closed|succe\w+|cancel\w*)\b",
        r"result of the vote\b",
    ),
    r"^\W{0,4}adopted[.! ]*$",
    r"^\W{0,4}resol(?:ution|ved)\b",
)
NOT_READY = Cue(
    "ready",
    rf"\b{_TEXT} (?:is|was) (?:therefore |thus |clearly |still )?not (?:yet |quite )?ready\b",
    rf"\b{_TEXT} (?:isn't|wasn't) (?:yet |quite )?ready\b",
    r"\b(?:chairs|we|i) (?:\w+ )?(?:do not|don't) (?:think|believe|consider|find|judge) (?:that )?"
    rf"(?:the|this) {_TEXT}(?: is|'s| to be)? (?:yet )?ready\b",
)
"""A person who closes a call for a text says that the text has to wait."""
DECIDES = Cue(
    "decision|closing",
    r"^\W{0,4}(?:the )?decision(?: (?:for|on|of|in) [^:]{1,60})?(?:: | is (?:that|to) )\w",
    r"^\W{0,4}(?:(?:i am|i'm|we are|we're) )?(?:now |hereby |therefore )?closing "
    r"(?:this|the) (?:\w+ ){0,3}(?:call|wglc|poll|discussion|thread|question|issue)\b",
)
HAS_DECIDED = Cue(
    "decided|concluded|determined",
    r"\b(?:i|we|chairs) (?:have |has )?(?:now |therefore |thus )?(?:decided|concluded|determined)\b",
)
"""A role holder has decided. The sentence itself says what."""
_TOWARDS = re.compile(
    rf"\b(?:consensus(?: (?:on the list|in the {_GROUP}|of the {_GROUP}|here|exists|among \w+))?(?:(?: is|"
    r" was| seems| appears| has been| reached| clear(?:ly)?| to be| now| strongly?| overwhelmingly){0,4})|"
    r"(?:agreed|decided|resolved|concluded|determined)|(?:decision|resolution|conclusion|outcome|"
    r"result)(?: (?:of|from|by|for|on) (?:the|this) (?:\w+ ){0,3}?\w+)?(?: is| was| has been)?)(?: therefore|"
    r" thus| hereby| now)? ?(to|for|in favou?r of|in support of|on|against|not to|that|:|around|"
    r"behind) ([^.;]{2,300})"
)
_WANTS = re.compile(
    rf"\b{_GROUP} (?:clearly |strongly |also )?(supports|favou?rs|is in favou?r of|agrees (?:to|with)|"
    r"approves|endorses|wants to|against|opposes|rejects) ([^.;]{2,300})"
)
_AGAINST = frozenset({"against", "not to", "opposes", "rejects"})
_BARE = re.compile(
    r"\b(?:have|see|is|was|reach|reached|declare|declaring|declared|call|calling|find|found|has|achieved|got|"
    r"'ve|'s) (?!no )(?:\w+ ){0,3}consensus(?: here| now| either way| in the (?:wg|working group|group)|"
    r" on (?:this|it))?\W*(?:$|and\b|so\b|[.,;:!])|\bconsensus (?:is|was|has been) (?:reached|achieved|clear|"
    r"declared)\b"
)
_CHOSE = Cue(
    _CLOSING_TRIGGERS,
    r"\b(?:going|go|goes|went|proceed|settled|settle) (?:\w+ )?(?:with|for|on) (?:the )?(?:option|"
    r"alternative|choice|variant|approach|proposal|solution|version) (?:#|no\.? ?)?[\w\"']{1,12}\b",
    r"\b(?:decision|result|outcome|winner|choice|conclusion)(?: of (?:the|this) \w+)?(?: is|:) (?:the )?"
    r"(?:option|alternative|choice|variant|approach|proposal|solution|version) (?:#|no\.? ?)?[\w\"']{1,12}\b",
    rf"\b{_GROUP} (?:clearly |strongly )?(?:prefers|preferred|favou?rs|chose|has chosen|selected|has "
    rf"selected) (?:the )?"
    r"(?:option|alternative|choice|variant|approach|proposal|solution|version) (?:#|no\.? ?)?[\w\"']{1,12}\b",
    r"\b(?:option|alternative|choice|variant|proposal|solution|version) (?:#|no\.? ?)?[\w\"']{1,12}"
    r"(?: has| is| was)?(?: been)?(?: clearly| therefore)? (?:wins|won|the (?:\w+ )?winner|selected|"
    r"chosen|it is|preferred)\b",
)
_OPTION = re.compile(
    r"^(?:the )?(?:option|alternative|choice|variant|approach|solution|version) (?:#|no\.? ?)?[\w\"']{1,12}\b"
)
_KEEPS = re.compile(
    r"\b(?:keep\w*|retain\w*|leav(?:e|ing)|preserv\w+|maintain\w*|stays?|remains?|status quo|no changes?|"
    r"as[- ]is|unchanged|current (?:text|name|behaviou?r|format|wording))\b"
)
_FORWARD = re.compile(
    r"\b(?:adopt\w*|accept\w*|approv\w+|publi\w+|advanc\w+|progress\w*|proceed\w*|mov(?:e|ing) (?:it |this |"
    r"the \w+ )?(?:forward|ahead|on)|forward\w*|send\w*|merg\w+|go(?:ing)? (?:ahead|forward)|work(?:ing)? on|"
    r"tak(?:e|ing) (?:this|it|on|up)|pursu\w+|releas\w+|request\w*|ready)\b"
)
_GIVES_UP = re.compile(
    r"\b(?:drop|abandon|reject|discontinue|stop|discard|kill|decline|withdraw|refuse|turn (?:it|this) "
    r"down|park)\w*\b"
)
_ITSELF = re.compile(
    rf"^(?:this|it|that|the|your|these|our)? ?(?:\w+ ){{0,2}}?(?:{_TEXT[3:-1]}|adoption|publication|removal|"
    r"addition|change|merge|release|call|idea|plan|approach)\b|^(?:this|it|that)\W*$"
)
_TURNED = re.compile(r"n't\b|\b(?:not|against|no longer|never)\b")
_TERMS = re.compile(r"\b(?:if|unless|until|once|when|whether|assuming|provided)\b")
_DENIES = re.compile(
    r"n't\b|\b(?:no|not|cannot|never|lack|lacks|lacking|absence|without|insufficient|neither|hardly|"
    r"fail(?:s|ed)?)\b"
)
_LATER = re.compile(
    r"\b(?:postpon\w+|defer(?:red|ring|s)?|suspend\w*|on hold|hold(?:ing)? off|extend\w*|extension|"
    r"re-?open\w*)\b"
)
"""The ruling comes later."""
_TENTATIVE = re.compile(
    r"\b(?:if|unless|until|once|when|whether|hope|hopes|hoping|wish|would|could|might|may|should|can|soon|"
    r"expect\w*|too early|premature|so far|not yet|yet|towards?|close to|trying|need(?:s|ed)? to|want(?:s|"
    r"ed)? to (?:see|get|have|hear)|before|assum\w+|appear(?:s|ed)? to be (?:emerging|heading)|emerging|"
    r"ask(?:s|ed|ing)?|seek(?:s|ing)?|determine whether|gauge|judge(?! there)|do we|look(?:s|ing)? for|"
    r"other (?:wg|group|working|draft|document|call))\b"
)
"""Words of a person who does not rule yet."""
_CLAUSE = re.compile(
    r"[,;:.!?]| (?:so|because|since|but|as|which|although|though|given) | and (?=(?:the|"
    r"i|we|authors?|editors?|it)\b)"
)


def ruling_of(sentence: OwnSentence, matter: str) -> Ruling | None:
    """Return the direction of a ruling on a proposal with the words `matter`, or None without a ruling."""
    if sentence.asks or _LATER.search(sentence.folded):
        return None
    for pattern, ruling in ((_FAILS, Ruling.AGAINST), (_CHOSE, Ruling.CHOSEN)):
        found = pattern.search(sentence)
        if found is not None:
            return ruling if _is_plain(sentence.folded, found) else None
    return _towards(sentence.folded, matter) or _passing(sentence)


def _towards(folded: str, matter: str) -> Ruling | None:
    """Return the direction of a decision or consensus, compared with the proposal."""
    found = _TOWARDS.search(folded) or _WANTS.search(folded)
    if found is None or not _is_plain(folded, found):
        return None
    return _denied(found, matter) if _before(folded, found, _DENIES) else _direction(found, matter)


def _passing(sentence: OwnSentence) -> Ruling | None:
    """Return a ruling from a call that passes, a text that is adopted, or plain consensus."""
    folded = sentence.folded
    found = _PASSES.search(sentence) or _BARE.search(folded)
    if found is None or not _is_plain(folded, found):
        return None
    turned = _before(folded, found, _DENIES) or _TURNED.search(found[0])
    return (Ruling.NONE if "consensus" in found[0] else None) if turned else Ruling.FOR


def _before(folded: str, found: re.Match[str], words: re.Pattern[str]) -> bool:
    return words.search(_CLAUSE.split(folded[: found.start()])[-1]) is not None


def _is_plain(folded: str, found: re.Match[str]) -> bool:
    """Return whether nothing in the clause hopes for it and nothing before it sets a term."""
    before = _CLAUSE.split(folded[: found.start()])[-1]
    clause = before + _CLAUSE.split(folded[found.start() :], maxsplit=1)[0]
    return not _TENTATIVE.search(clause) and not _TERMS.search(folded[: found.start()])


def _denied(found: re.Match[str], matter: str) -> Ruling:
    """Return NONE for a denied consensus for or on the proposal, else UNKNOWN."""
    direction = _direction(found, matter)
    is_none = direction is Ruling.FOR or (direction is Ruling.UNKNOWN and found[1] not in {"to", "not to"})
    return Ruling.NONE if is_none else Ruling.UNKNOWN


def _direction(found: re.Match[str], matter: str) -> Ruling:
    """Return the ruling by whether the decided act is the proposed one."""
    preposition, target = found[1], found[2]
    words = _CLAUSE.split(target, maxsplit=1)[0].strip(" \"'*_")
    if _OPTION.search(words):
        return Ruling.CHOSEN
    same = _same(words, matter)
    if same is None:
        return Ruling.UNKNOWN
    turned = preposition in _AGAINST or _TURNED.search(f"{found[0][: -len(target)]} {words}") is not None
    return Ruling.FOR if same != turned else Ruling.AGAINST


def _same(words: str, matter: str) -> bool | None:
    """Return True for the proposed act, False for its opposite, None if the words do not show it."""
    undoes = UNDOES.search(matter) is not None
    if _KEEPS.search(words):
        return True if KEEPS_WHAT.search(matter) else False if undoes else None
    if acts_in(words) & acts_in(matter):
        return True
    if _FORWARD.search(words):
        return True if not undoes or _FORWARD.search(matter) else None
    if _GIVES_UP.search(words):
        return False
    return True if _ITSELF.search(words) else None


def settles_it(sentence: OwnSentence) -> bool:
    """Return whether the sentence says how something was settled, whoever writes it."""
    if sentence.asks or REPORTED.finds(sentence) or CONDITION.finds(sentence) or NEGATION.finds(sentence):
        return False
    return DECIDES.finds(sentence) or (RULES.finds(sentence) and not CLOSES.search(sentence.folded))


def may_rule(sentence: OwnSentence) -> bool:
    return not _PASSES.triggers.isdisjoint(sentence.words)
