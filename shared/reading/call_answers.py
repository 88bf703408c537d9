"""Reads a participant's stance in answer to a formal call from one sentence.

The sentence may be anywhere in a mail and reply to any mail: "I oppose adoption" needs no quote. The reader
splits it into speaker, direction and object. A sentence about neither the call nor its matter ("the wording
in section 3") is no answer.
"""

import re
from enum import StrEnum

from shared.reading import cues
from shared.reading.mails import OwnSentence
from shared.reading.proposal import acts_in
from shared.reading.stances import IN_A_PRODUCT, OF_OTHERS, REASON, UNDOES


class Of(StrEnum):
    """The object of a stance."""

    MATTER = "matter"
    """What is proposed, by its name."""
    OPPOSITE = "opposite"
    """The current state, if the proposal changes it."""
    ITSELF = "itself"
    """No object, or "this": the object is what the sentence answers."""
    OTHER = "other"


_ADVERBS = (
    r"(?:(?:also|too|really|strongly|fully|very much|definitely|wholeheartedly|firmly|completely|totally|do|"
    r"still|therefore|hereby|certainly|personally|generally|formally|both|all|must|have to|would|can|will|"
    r"now|absolutely|clearly|continue to|reluctantly|remain|and|then|likewise|so),? ){0,3}"
)
_FIRST = (
    r"(?:(?:^\W{0,4}|[.,;:] )(?:i|we|i've|we've|i'm|having)\b[^.;]{2,120}\band |(?:^|[.,;:(] ?|\b(?:and|"
    r"but|so|that|therefore|thus|hence|fwiw|personally|chairs|all|hi|yes|no|reasons?|above|"
    r"draft|document|while|individual|implementer|implementor|author|contributor|member) )"
    r"(?:i|we|(?:i|we) ?\([^)]{1,40}\)|i,? too,?),? )"
)
_BEGINS = (
    r"^\W{0,4}(?:(?:yes|hi|hello|all|chairs|ok|okay|strong|my|another|a|well|fwiw|imo|imho|count me as)"
    r"[,/:.! ]+|no[,.] ){0,3}"
)
_AGREES = re.compile(r"\bagree\b|\+ ?1|\bsecond\b")
_FOR = re.compile(
    _FIRST + _ADVERBS + r"(?:support|endorse|favou?r|second|back|approve(?: of)?|welcome|agree (?:with|to|"
    r"on)|vote (?:for|to|yes|in favou?r(?: of)?)|am ok(?:ay)? with|have no (?:\w+ )?objections?(?: to)?|"
    r"have no (?:\w+ )?(?:problems?|issues?|concerns?) (?:to|with|about|against))\b(?P<what>[^;]*)|\b(?:i|"
    r"we)(?: am| are|'m|'re) "
    + _ADVERBS
    + r"(?:in favou?r of|in support of|supportive of|for|all for|fine with|ok(?:ay)? with|happy with|on "
    r"board with) (?P<what2>[^;]*)|"
    + _BEGINS
    + _ADVERBS
    + r"(?:support(?:ing|ive(?: of)?)?|in favou?r(?: of)?|in support(?: of)?|\+ ?1 (?:to|for|on)|no "
    r"(?:\w+ )?objections?(?: to| on)?|"
    r"full support(?: for)?|happy with|agree (?:with|to|on))\b(?P<what3>[^;]*)|"
    r"\b(?:we|i)'(?:d|m|re) (?:also |very |really |all |definitely |strongly ){0,2}(?:be )?"
    r"(?:support|supportive of|in favou?r of|for|fine with|ok with|happy with) (?P<what4>[^;]*)"
)
"""Words of support, followed by their object."""
_AGAINST = re.compile(
    _FIRST
    + _ADVERBS
    + r"(?:oppose|object(?: to)?|disagree with|reject|vote (?:against|no))\b(?P<what>[^;]*)|"
    + _FIRST
    + _ADVERBS
    + r"(?:do not|don't|cannot|can't|can not|would not|wouldn't|am not able to|am "
    r"unable to|could not|couldn't) (?:\w+ )?(?:support|endorse|agree (?:with|to)|approve(?: of)?|favou?r|"
    r"back)\b(?P<what2>[^;]*)|\b(?:i|we)(?: am| are|'m|'re| remain) "
    + _ADVERBS
    + r"(?:opposed(?: to)?|against|not (?:\w+ )?in favou?r(?: of)?|not (?:\w+ )?supportive(?: of)?|not "
    r"(?:\w+ )?in support of)\b(?P<what3>[^;]*)|"
    + _BEGINS
    + _ADVERBS
    + r"(?:opposed(?: to)?|against|oppose|object(?: to)?|not (?:\w+ )?in favou?r(?: of)?|not (?:\w+ )"
    r"?supportive(?: of)?|not support(?:ing)?|do not support|don't support|- ?1 (?:to|for|on)|"
    r"(?:strong )?(?:objections?|opposition) to)\b(?P<what4>[^;]*)|\b(?:i|we|let me|like to|want to|must|"
    r"hereby)\b.{0,30}\b(?:register|state|note|record|express|voice|raise|maintain|reiterate) (?:my|our|"
    r"an?) (?:\w+ )?(?:objections?|opposition) (?:to|against)\b(?P<what5>[^;]*)"
)
_SHOULD = re.compile(
    r"(?P<doubt>\b(?:i|we) (?:do not|don't|cannot|can't)(?: really)? (?:think|believe|feel|see why|"
    r"agree)(?: that)? )?(?:(?P<subject>(?:\b(?:this|it|that)|\bthe \w+|\bthis \w+|\badoption|"
    r"\bpublication)[^,;:]{0,60}?) should(?P<no>(?: ?n't| not))? (?:\w+ly |really |also |instead )?(?:(?:be |"
    r"become )(?P<act>\w+)|(?P<act3>stay|go|remain|happen|progress|advance|proceed))|\b(?:we|the (?:wg|"
    r"working group|group|chairs)|you) should(?P<no2>(?: ?n't| not))? (?:\w+ly |really |also |rather |"
    r"just )?(?:go ahead and )?(?P<act2>\w+)(?P<what>[^,;:]*))"
)
_ASKS = re.compile(
    r"(?:^\W{0,4}(?:yes,? |no,? |so |ok,? )?|[.,;:] |\band )(?:please|let's|lets|do)(?P<no> not| don't|"
    r" do not)? (?:just |also |indeed )?(?P<act>\w+)(?P<what>[^,;:]*)|^\W{0,4}(?:please )?(?P<no2>don't|"
    r"do not) (?P<act2>\w+)(?P<what2>[^,;:]*)|^\W{0,4}(?:yes,? )?(?P<act3>adopt|publish|remove|drop|keep|"
    r"retain|accept|approve|merge|release)(?P<what3>(?: (?:it|this|that|the \w+))?)\W*$"
)
_JUDGES = re.compile(
    r"(?P<doubt>\b(?:i|we) (?:do not|don't|cannot|can't)(?: really)? (?:think|believe|feel|"
    r"consider)(?: that)? )?(?P<subject>\b(?:this|it|that|the (?:\w+ )?(?:draft|document|i-d|text|spec|"
    r"specification)|this (?:draft|document|version|i-d)|adoption|publication|adopting \w+|publishing \w+|"
    r"to (?:adopt|publish)(?: \w+)?))(?: of [^,;:]{1,40}?)?(?: is|'s| seems| to be| are|"
    r") (?P<no>not )?(?:now |clearly |still |yet |quite |certainly |mostly |very |at this (?:time|point|"
    r"stage) ){0,2}(?P<word>ready|premature|too early|appropriate|in good shape|a bad idea|a good (?:idea|"
    r"starting point|start|basis)|a mistake|unnecessary|warranted|justified|"
    r"inappropriate)\b(?P<what>[^,;:]*)|^\W{0,4}(?P<no2>not )?(?:yet )?(?P<word2>ready)(?: to me| for \w+|"
    r" to \w+)?\W*$"
)
_JUDGES_IDEA = frozenset(
    {"a bad idea", "a mistake", "a good idea", "a good starting point", "a good start", "a good basis"}
)
"""Judgments of what is to be done, whatever it is."""
_PRONOUNS = frozenset({"this", "it"})
_BAD_WORDS = frozenset({"premature", "too early", "a bad idea", "a mistake", "unnecessary", "inappropriate"})
_SEES = re.compile(
    r"\b(?:i|we)(?:'d| would)?,? " + _ADVERBS + r"(?:be )?(?:like|love|happy|glad|pleased|prefer|want|"
    r"wish)(?P<no> not)? (?:to )?(?:see|have) (?P<what>[^,;:]{0,60}?)\b(?P<act>adopted|published|removed|"
    r"dropped|accepted|released|go|gone|deprecated|progress|advance|happen|move forward|work on)\b|"
    r"^\W{0,4}(?:happy|glad|pleased) to see (?P<what2>[^,;:]{0,60}?)\b(?P<act2>adopted|published|removed|"
    r"progress|move forward)\b|\b(?:i|we)(?:'d| would)?(?: much| strongly| really)? (?:rather|prefer|want|"
    r"like|wish)(?: to)?(?P<no2> not)?(?: to)? (?P<act3>(?!see\b|have\b)\w+)(?P<what3>[^,;:]*)"
)
_ITS_NAME = re.compile(
    r"(?:(?:this|that|the|its|his|their|your|such|wg|working group|early|proposed|formal|a|an|of|to|for|"
    r"current|said|chairs?'?) )*(?:draft-\S+|(?:\w+ )?(?:draft|document|i-d|internet-draft|call|cfc|"
    r"resolution|motion|work item|work|adoption|publication|proposal|removal|release|last call|nomination|"
    r"amendment|candidate|change))(?=$|\W*$|[,.!] ?| (?:of|for|as|by|to be|being|going|moving|becoming|"
    r"at this|in its|too|because|since|and|with|on|now|even|although|though|but|however)\b)"
)
_PRONOUN = re.compile(
    r"^(?:(?:as well\b|here\b|either\b|at all\b|from (?:me|my|our|us)\b|too\b|also\b|strongly\b|because\b|"
    r"since\b|and\b|on the grounds\b|for the (?:same )?reasons?\b|at this\b)|(?:(?:this|it|that|these|them|"
    r"all of (?:this|it))\b)?(?= ?$|\W*$| (?:too|as well|also|strongly|being|as|at this|now|for|because|"
    r"since|and|but|in its|moving|going|effort|work|in principle|either|although|though|even)\b|[,.!]))"
)
_ACT_FORWARD = re.compile(
    r"(?:(?:the|its|to|wg|this|it|early|formal|on|that we|the wg) )*(?:adopt\w*|publi\w+|advanc\w+|"
    r"progress\w*|accept\w*|mov(?:e|ing)(?: (?:this|it|the \w+|ahead|forward|on))+|send(?:ing)? (?:this|it|"
    r"the \w+) to|forward\w* (?:this|it|the \w+) to|tak(?:e|ing) (?:this on|it on|on)|"
    r"work(?:ing)? on (?:this|it|the \w+)|approv\w+|releas\w+|request\w* publication|ship\w*)\b"
)
_KEEPS = re.compile(
    r"(?:(?:the|to|this|it|on) )*(?:keep\w*|retain\w*|retention|leav(?:e|ing)|preserv\w+|"
    r"stay(?:s|ing)?|status quo|remain\w*)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|provided|assuming|once|until|as long as|only when|when (?:the|these|this|all)|whether|"
    r"should (?:the|these) \w+ be|without|depending|conditional\w*|contingent|before|only (?:after|if|when|"
    r"once|as|with))\b|\bas (?:an? )?(?:informational|experimental|historic|bcp|individual|separate|two|"
    r"split|standard)\b"
)
_HEDGES = re.compile(
    r"\b(?:neither|nor|whether|not sure|unsure|might|may|perhaps|maybe|abstain|undecided|not decided|"
    r"hesitant|inclined|tempted|leaning|"
    r"hard to|difficult to|did not say|didn't say|never said|not saying|don't mean)\b"
)
_TELLS = re.compile(
    r"^\W{0,4}(?:why|how|what|when|where|who|whoever)\b|\b(?!the\b|this\b|that\b|your\b|i\b|we\b|as\b|"
    r"have\b)\w+ (?:thinks|says|believes|argues|suggests|suggested|said|claims|"
    r"wrote|wants|feels|thought|proposed|asked|agrees|supports|objects|opposes)\b"
)
"""The sentence tells reasons or another person's words."""
_NEUTRAL = re.compile(
    r"\b(?:do not|don't|neither) (?:\w+ )?(?:object|oppose|support)\b.*\b(?:nor|do not|don't) (?:\w+ )"
    r"?(?:support|object|oppose)\b"
)
_REMOVES = re.compile(
    r"\b(?:drop\w*|remov\w+|delet\w+|deprecat\w+|retir\w+|get(?:ting)? rid|discard\w*|cut\w*)\b"
)
_AGAIN = re.compile(r",? ?\b(?:but|however|although|though|except|yet)\b(.*)$")
_TAKES_BACK = re.compile(
    r"n't\b|\b(?:not|no|never|only|cannot|unless|if|until|premature|oppose|object|objection|concern|concerns|"
    r"concerned|worried|doubt|problem|problems|unclear|disagree|against|support|agree|live with|fine)\b"
)
_NO = re.compile(r"n't\b|\b(?:not|never|nobody|none)\b")


def stance_in_call(sentence: OwnSentence, matter: str) -> tuple[bool, Of] | None:
    """Return whether a sentence is for (True) or against, and of what, or None without a stance.

    `matter` is the text of the call. A hedged, limited or reported stance counts as about something else.
    """
    folded = sentence.folded
    named = [stance for stance in (read(folded, matter) for read in _READERS) if stance is not None]
    if not named:
        return None
    plain = [stance for stance in named if stance[1] is not Of.OTHER]
    unclear = sentence.asks or any(
        pattern.search(folded) for pattern in (OF_OTHERS, _HEDGES, _NEUTRAL, _TELLS)
    )
    limited = any(_is_limited(sentence, end) for _, _, end in plain)
    if not plain or unclear or limited or len({stance[0] for stance in plain}) > 1:
        return named[0][0], Of.OTHER
    names_it = [stance for stance in plain if stance[1] is not Of.ITSELF]
    return (names_it or plain)[0][:2]


def _group(found: re.Match[str], name: str) -> str:
    """Return the first of the groups `name`, `name2` and so on that matched."""
    names = [group for group in found.groupdict() if group.rstrip("0123456789") == name]
    return next((found[group] for group in names if found[group] is not None), "")


def _against(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _AGAINST.search(folded)
    return None if found is None else _read(found, matter, is_for=False)


def _for(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _FOR.search(folded)
    if found is None or _NO.search(found[0][: -len(_group(found, "what")) or None]):
        return None
    read = _read(found, matter, is_for=True)
    # The person whom the writer agrees with shows what the agreement is for.
    return None if read[1] is Of.OTHER and _AGREES.search(found[0]) else read


def _read(found: re.Match[str], matter: str, *, is_for: bool) -> tuple[bool, Of, int]:
    target = _group(found, "what")
    of = _of(target.strip(), matter)
    return (is_for if of is not Of.OPPOSITE else not is_for), of, found.end() - len(target)


def _should(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _SHOULD.search(folded)
    if found is None:
        return None
    subject = (found["subject"] or "").strip()
    act, target = _group(found, "act"), _group(found, "what").strip()
    of = _of_act(f"{act} {target}", matter)
    if act in _HAPPENS or (act in _GOES and UNDOES.search(matter)):
        of = Of.MATTER
    if of is None:
        return None
    before = re.split(r"[,;:.]", folded[: found.start()])[-1]
    if _NO.search(before) or re.search(r"\b(?:no|few|nobody|why|how|who)\b", before):
        of = Of.OTHER
    names_other = _of(subject, matter) is Of.OTHER if subject else _is_of_other(target, matter)
    if names_other and not _SUBJECT.match(subject):
        of = Of.OTHER
    is_for = (not _group(found, "no")) == (found["doubt"] is None)
    return is_for if of is not Of.OPPOSITE else not is_for, of, found.end()


def _asks(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _ASKS.search(folded)
    if found is None:
        return None
    target = _group(found, "what").strip()
    of = _of_act(f"{_group(found, 'act')} {target}", matter)
    if of is None:
        return None
    is_for = not _group(found, "no")
    of = Of.OTHER if _is_of_other(target, matter) else of
    return is_for if of is not Of.OPPOSITE else not is_for, of, found.end()


def _sees(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _SEES.search(folded)
    if found is None:
        return None
    act = _group(found, "act")
    of = Of.MATTER if act in _HAPPENS or (act in _GOES and UNDOES.search(matter)) else _of_act(act, matter)
    target = _group(found, "what").strip()
    if of is None or (
        not _SUBJECT.match(target) and not _THE_GROUP.match(target) and _of(target, matter) is Of.OTHER
    ):
        return None
    is_for = not _group(found, "no")
    return is_for if of is not Of.OPPOSITE else not is_for, of, found.end()


_SUBJECT = re.compile(
    r"(?:this|it|that)(?: (?:draft|document|work|specification|proposal))?(?: (?:is|looks|seems|addresses|"
    r"solves|provides|has) .*| and| really| also)?$"
)
_THE_GROUP = re.compile(r"(?:the )?(?:wg|working group|group)$")
_HAPPENS = frozenset({"happen", "proceed", "work on", "progress", "advance", "move forward"})
_GOES = frozenset({"go", "gone"})


def _judges(folded: str, matter: str) -> tuple[bool, Of, int] | None:
    found = _JUDGES.search(folded)
    if found is None:
        return None
    word = found["word"] or found["word2"] or ""
    if word not in _JUDGES_IDEA and UNDOES.search(matter) and not _ACT_FORWARD.search(matter):
        return None
    good = word not in _BAD_WORDS
    negated = bool(_group(found, "no")) != (found["doubt"] is not None)
    rest = _group(found, "what").strip()
    if rest and not (_READY_FOR if word == "ready" else _AS_JUDGED).match(rest):
        return None
    of = Of.MATTER
    if word in _JUDGES_IDEA:
        # "That" points to the words directly before it.
        of = Of.ITSELF if found["subject"] in _PRONOUNS else Of.OTHER if found["subject"] == "that" else of
    return good != negated, of, found.end()


_AS_JUDGED = re.compile(
    r"^(?:(?:to (?:adopt|publish|advance|remove)|for (?:adoption|publication)|at this|and|"
    r"because|as|now|here)\b|\W*$)"
)
_READY_FOR = re.compile(
    r"^(?:(?:for|to be|to (?:go|progress|advance|proceed|move|ship|publish)|yet|now|at this|as is|and|from "
    r"my)\b|\W*$)"
)


def _of_act(act: str, matter: str) -> Of | None:
    """Return the object of an act, seen from the proposal, or None for an unrelated act."""
    if _KEEPS.match(act):
        return Of.OPPOSITE if UNDOES.search(matter) else None
    if acts_in(act) & acts_in(matter) or (_REMOVES.match(act) and _REMOVES.search(matter)):
        return Of.MATTER
    if _ACT_FORWARD.match(act) and (not UNDOES.search(matter) or _ACT_FORWARD.search(matter)):
        return Of.MATTER
    return None


def _of(target: str, matter: str) -> Of:
    target = target.strip(" *_\"'(")
    if _PRONOUN.match(target) and (not target or not _KEEPS.match(target)):
        return Of.ITSELF
    words = re.split(r"[.!?,:]| and | but ", target, maxsplit=1)[0]
    opening = " ".join(words.split()[:4])
    if _KEEPS.match(words):
        return Of.OPPOSITE if UNDOES.search(matter) else Of.OTHER
    same_act = acts_in(opening) & acts_in(matter) or (_REMOVES.search(opening) and _REMOVES.search(matter))
    if same_act or _ITS_NAME.match(target):
        return Of.MATTER
    if _ACT_FORWARD.match(words) and (not UNDOES.search(matter) or _ACT_FORWARD.search(matter)):
        return Of.MATTER
    telling = [word for word in re.findall(r"[a-z]{4,}", words)[:_FIRST_WORDS] if word not in _COMMON]
    shared = sum(word in matter for word in telling)
    return Of.MATTER if shared >= _SHARED and not UNDOES.search(matter) else Of.OTHER


def _is_of_other(target: str, matter: str) -> bool:
    """Return whether the words after an act name something else than the matter."""
    target = target.removeprefix("on ")
    telling = {word for word in re.findall(r"[a-z]{3,}", target) if word not in _COMMON}
    is_named = bool(telling) and telling <= set(re.findall(r"\w+", matter))
    return not is_named and _of(target, matter) is Of.OTHER


_FIRST_WORDS, _SHARED = 5, 2
_COMMON_WORDS = "the for and this that these those with from your their have will would should"
" section about document draft text"
_COMMON = frozenset(_COMMON_WORDS.split())


def _is_limited(sentence: OwnSentence, end: int) -> bool:
    """Return whether a condition, another person's words or a turn limits the stance."""
    folded = sentence.folded
    turn, reason = _AGAIN.search(folded, end), REASON.search(folded, max(0, end - 1))
    stop = min(found.start() for found in (turn, reason) if found) if turn or reason else len(folded)
    if _CONDITION.search(folded[:stop]) or (turn and _TAKES_BACK.search(turn[1])):
        return True
    return bool(cues.REPORTED.finds(sentence) and cues.REPORTED.anywhere.search(folded[:end])) or bool(
        IN_A_PRODUCT.search(folded[:stop])
    )


_READERS = (_against, _for, _should, _asks, _sees, _judges)
_TRIGGER_WORDS = (
    "support supporting supportive endorse favour favor second back approve welcome agree vote favour "
    "fine ok okay happy board objections objection problem issue concerns oppose opposed object disagree "
    "reject against opposition should please let's lets do don't adopt publish remove drop keep retain "
    "accept merge release ready premature early appropriate shape mistake unnecessary justified see "
    "rather prefer want +1 -1"
)
_TRIGGERS = frozenset(_TRIGGER_WORDS.split())


def may_answer(sentence: OwnSentence) -> bool:
    return not _TRIGGERS.isdisjoint(sentence.words)
