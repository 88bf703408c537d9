"""How the review of a patch, a question and a report ended, with the evidence."""

import re
from dataclasses import dataclass
from itertools import chain

from shared.mail.subjects import split_subject
from shared.models.values import (
    ConsensusBasis,
    Genre,
    OutcomeKind,
    Position,
    PositionStance,
    Preset,
    ReadGenre,
    Tier,
    VoteCount,
)
from shared.reading.cues import CONDITION, NEGATION, OPEN, SOLVED, THANKS, TRAILER, Cue
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence
from shared.reading.proposal import Proposal
from shared.reading.rulings import EndingWord, Settlements
from shared.reading.stance_cues import APPROVES, DOUBTS, OPPOSES

_CHANGES = re.compile(
    r"\bwith (?:the following|some|minor|small|a few|slight|my|your|these|those)\b|"
    r"\bwith (?:the|an?|that|this) (?:\w+ )?(?:update|changes?|fix|tweak|adjustment|"
    r"addition|warning|edit|correction)\b|\bi (?:tentatively )?queued\b|\b(?:tweak|squash|fix(?:ed)?[ -]?up|"
    r"amend|touch(?:ed)? up|edit|reword|adjust)\w*\b|\bwhile (?:at it|applying|merging|queu?e?ing)\b|"
    r"\b(?:i(?:'ve| have)?) (?:also )?(?:removed|changed|added|fixed|dropped)\b"
)
"""Words of a person who takes a patch and changes it."""


@dataclass(slots=True)
class Ending:
    """The kind of outcome with its reasons, before it is phrased."""

    kind: OutcomeKind
    basis: ConsensusBasis
    rule: str
    sure: bool = False
    settled_by: EndingWord | None = None
    evidence: OwnSentence | None = None


@dataclass(slots=True)
class Evidence:
    thread: LinkedThread
    proposal: Proposal
    genre: ReadGenre
    settlements: Settlements
    said: list[Position]
    heard_against: bool
    """Whether anybody was heard against it, stated or not."""
    votes: VoteCount

    def count(self, stance: PositionStance) -> int:
        return self.thread.voices(self.said, stance)

    @property
    def newer_version(self) -> bool:
        """Whether a later version came after another person had spoken, and may include their remarks."""
        first = self.proposal.mail.version
        others = [mail.number for mail in self.thread.mails if mail.person not in self.proposal.proposers]
        return any(
            self.thread.mails[number].version > first and others and others[0] < number
            for number in self.proposal.mails
        )

    @property
    def is_taken_with_changes(self) -> bool:
        """Whether the person who accepted the patch names or shows their changes."""
        accepted = self.settlements.accepted or self.settlements.taken
        if not accepted:
            return False
        mail = self.thread.mail_of(accepted[-1].sentence)
        return mail.has_diff or mail.matches(_CHANGES)


def unknown(kind: OutcomeKind, rule: str, *, sure: bool = False) -> Ending:
    return Ending(kind, ConsensusBasis.UNKNOWN, rule, sure=sure)


def counted(kind: OutcomeKind, rule: str, *, sure: bool = True) -> Ending:
    return Ending(kind, ConsensusBasis.COUNTED, rule, sure=sure)


def ended_by(
    kind: OutcomeKind, settlement: EndingWord, basis: ConsensusBasis, rule: str, *, sure: bool
) -> Ending:
    return Ending(kind, basis, rule, sure=sure, settled_by=settlement, evidence=settlement.sentence)


_PART = re.compile(
    r"\bpatch(?:es)? #?\d|\b(?:the )?(?:first|second|third|last|other|rest|remaining)\b|"
    r"\bpostponed\b|\bpart(?:s|ly|ially)?\b|\bsome of\b|\bexcept\b|\d/\d|"
    r"\b(?:appl(?:y|ied)|queued?|t[oa]ke?n?|merged?|picked up|pushed) #?\d{1,2}(?: ?[-,] ?\d| and \d| to \b)"
)
"""Only part of a series is taken."""
_RESISTS = re.compile(
    r"\b(?:but|however|although|though|rather|prefer|instead|intentional\w*|deliberate\w*|on purpose|"
    r"disagree|unfortunately|unless|until|if|when|later|another (?:patch|series)|separate\w*|wonder|actually|"
    r"maybe|perhaps|i think|cannot|(?:do|does|is|are|should|will|need) not|not (?:sure|needed|necessary))\b|"
    r"\b(?:do|does|is|are|should|wo|ca|need)n't\b|(?:^|[.,;] )no\b[,. ]|"
    r"\b(?:drop|ignore|discard) (?:it|this|that|the patch)\b|\b(?:update|tell|keep) you\b|\blet you know\b"
)
"""Words of an author who does not take over a remark as it is, or not in this series."""
_WILL_CHANGE = re.compile(
    r"\b(?:will|going to|let me)\b|"
    r"'ll\b|^\W{0,4}(?:\w+,? ){0,2}(?:done|fixed|changed|updated|corrected|removed)\b"
)
_SETTLED_ELSEWHERE = re.compile(
    r"\balready (?:\w+ )?(?:applied|sent|merged|fixed|queued|committed|upstream|done|in)\b|"
    r"\b(?:same|identical) (?:patch|fix|change|e?mail)\b|\bduplicates?\b"
)
"""A reviewer says that there is another patch, or that this one is taken."""
_ENOUGH_TRAILERS = 2
_A_WORD = 2
_MOST_VERSIONS, _MAX_NOTES = 6, 6_000
_REMARKS = r"(?:comments?|feedback|remarks|suggestions?|reviews?|reviewing)"
_TAKES_OVER = re.compile(
    r"\b(?:as|per|following|based on|taking) (?:\w+ ){0,3}(?:suggested|requested|pointed|advised|"
    rf"{_REMARKS})\b|\b(?:suggested|requested|pointed out|noticed|spotted) by\b|\b(?:address\w*|"
    rf"incorporat\w+|appl(?:y|ied)|took|taken) (?:[\w']+ ){{0,3}}{_REMARKS}\b|"
    rf"\bthanks?\b[^.!]{{0,60}}\b{_REMARKS}\b"
)
"""Words of a version about the remarks on the previous one."""


def of_patch(ending: Evidence) -> Ending:
    return _by_authority(ending) or _by_others(ending) or _without_acceptance()


def _kind(ending: Evidence) -> OutcomeKind:
    return OutcomeKind.REVISED if _is_changed(ending) else OutcomeKind.ACCEPTED


def _is_changed(ending: Evidence) -> bool:
    return bool(ending.settlements.promised) or ending.newer_version or ending.is_taken_with_changes


def _may_be_changed(ending: Evidence) -> bool:
    """Return whether the patch's author promises a change of a patch that another person sent."""
    return any(
        ending.thread.mail_of(word.sentence).person in ending.proposal.owners
        for word in ending.settlements.edited
    )


def _by_authority(ending: Evidence) -> Ending | None:
    found = ending.settlements
    if found.accepted:
        word = found.accepted[-1]
        unchanged = not _is_changed(ending) and not _may_be_changed(ending)
        shown = ending.newer_version or found.names_next_version or unchanged
        sure = (
            shown
            and not _PART.search(word.sentence.folded)
            and not _is_doubted_after(ending, word.sentence.mail)
        )
        return ended_by(_kind(ending), word, ConsensusBasis.RULED, "accepted by authority", sure=sure)
    if found.rejected:
        word = found.rejected[-1]
        return ended_by(OutcomeKind.REJECTED, word, ConsensusBasis.RULED, "rejected by authority", sure=False)
    return None


def _by_others(ending: Evidence) -> Ending | None:
    found = ending.settlements
    if found.withdrawn and len(ending.proposal.proposers) == 1:
        word = found.withdrawn[-1]
        return ended_by(OutcomeKind.REJECTED, word, ConsensusBasis.UNKNOWN, "withdrawn", sure=True)
    if found.taken:
        sure = not _is_changed(ending)
        return ended_by(_kind(ending), found.taken[-1], ConsensusBasis.COUNTED, "taken", sure=sure)
    if ending.newer_version:
        return unknown(OutcomeKind.REVISED, "new version", sure=_is_final_version(ending))
    if found.promised_next:
        word = found.promised_next[-1]
        sure = not ending.heard_against and not _is_questioned_after(ending, word.sentence.mail, asking=False)
        return ended_by(OutcomeKind.REVISED, word, ConsensusBasis.UNKNOWN, "taken over", sure=sure)
    return _by_reviewers(ending)


def _by_reviewers(ending: Evidence) -> Ending | None:
    """Return an ending by reviewers: all consented, or the author takes over all remarks."""
    if _is_acked(ending):
        return counted(OutcomeKind.ACCEPTED, "acked")
    if word := _all_taken_over(ending):
        return ended_by(OutcomeKind.REVISED, word, ConsensusBasis.UNKNOWN, "remarks taken over", sure=True)
    return None


def _all_taken_over(ending: Evidence) -> EndingWord | None:
    """Return the author's last promise if the author answers every review and resists nothing."""
    proposers, mails = ending.proposal.proposers, ending.thread.mails
    reviews = [mail for mail in mails if mail.person not in proposers and _has_remarks(mail)]
    if not reviews or ending.heard_against:
        return None
    answers = [mail for mail in mails[reviews[0].number :] if mail.person in proposers and not mail.is_patch]
    words = [
        word
        for word in ending.settlements.promised
        if answers and word.sentence.mail == answers[-1].number and _WILL_CHANGE.search(word.sentence.folded)
    ]
    if not words or any(mail.asks or mail.matches(_RESISTS) for mail in answers):
        return None
    answered = {mail.parent for mail in answers}
    if any(mail.matches(_SETTLED_ELSEWHERE) for mail in reviews):
        return None
    if any(mail.number not in answered and mail.number < answers[-1].number for mail in reviews):
        return None
    after = [mail for mail in mails[answers[-1].number + 1 :] if _has_remarks(mail)]
    return None if after or _is_questioned_after(ending, answers[-1].number) else words[-1]


def _has_remarks(mail: LinkedMail) -> bool:
    """Return whether a mail has more than trailers, thanks, praise and a word of consent."""
    return any(
        not TRAILER.match(sentence.text)
        and not THANKS.finds(sentence)
        and not APPROVES.finds(sentence)
        and (sentence.asks or len(sentence.words) > _A_WORD)
        for sentence in mail.sentences
    )


def _is_final_version(ending: Evidence) -> bool:
    """Return whether a later version takes remarks over without later questions or doubts."""
    newest = max(ending.proposal.mails, key=lambda number: (ending.thread.mails[number].version, number))
    if not any(_TAKES_OVER.search(_notes(mail)) for mail in _versions(ending)):
        return False
    return not ending.heard_against and not _is_questioned_after(ending, newest)


def _is_questioned_after(ending: Evidence, number: int, *, asking: bool = True) -> bool:
    """Return whether another person doubts or asks after that mail, so that its words may not hold."""
    return any(
        (asking and sentence.asks) or DOUBTS.finds(sentence) or OPPOSES.finds(sentence)
        for mail in ending.thread.mails[number + 1 :]
        if mail.person not in ending.proposal.proposers
        for sentence in mail.sentences
    )


def _is_doubted_after(ending: Evidence, number: int) -> bool:
    """Return whether a person whom deciders hear doubts after that mail."""
    return any(
        DOUBTS.finds(sentence) or OPPOSES.finds(sentence)
        for mail in ending.thread.mails[number + 1 :]
        if mail.person not in ending.proposal.proposers
        and ending.thread.is_heard(mail, ending.proposal.owners)
        for sentence in mail.sentences
    )


def _versions(ending: Evidence) -> list[LinkedMail]:
    """Return the later versions, of a series only its cover letters if it has any."""
    later = [ending.thread.mails[number] for number in sorted(ending.proposal.mails)]
    later = [mail for mail in later if mail.version > 1]
    return ([mail for mail in later if not mail.is_part] or later)[:_MOST_VERSIONS]


def _notes(mail: LinkedMail) -> str:
    """Return what a version says about itself, also below the line that ends its log message."""
    return mail.mail.text[:_MAX_NOTES].lower()


def _without_acceptance() -> Ending:
    # A patch without a visible acceptance has no outcome. It may be accepted in other words or elsewhere.
    return unknown(OutcomeKind.UNRESOLVED, "no acceptance")


def _is_acked(ending: Evidence) -> bool:
    """Return whether several people gave their trailer, and all others who spoke did."""
    acked = {position.person for position in ending.said if position.rule == "trailer"}
    others = {
        mail.mail.address.lower()
        for mail in ending.thread.mails
        if mail.person not in ending.proposal.proposers
    }
    return len(acked) >= _ENOUGH_TRAILERS and others <= acked and not ending.settlements.promised


_FIXED_VERBS = r"(?:fixed|corrected|addressed)"
_FIXED = Cue(
    "fixed|done|corrected|addressed",
    r"^\W{0,4}(?:(?:thanks|thank you|ok|okay|yes|good catch|sure)[,.;! -]+)?(?:both |all |these are |"
    r"this is |it's |now )?(?:fixed|done|corrected|addressed)\b(?: (?:in|at|with|by|on|now|here)\b|[.!:]|$)",
    rf"\b(?:i|we)(?:'ve| have)? (?:now |just |already )?{_FIXED_VERBS} "
    r"(?:this|it|them|that|these|both|all|those)\b",
    r"\b(?:this|it|that|both|all)(?: (?:is|was|are|were|has been|have been)|'s) (?:now |already )?"
    rf"{_FIXED_VERBS} (?:in|by|with|at|on|now)\b",
)
_HELPED = Cue(
    "working|solves|solved|turns|turned|found|figured|was|charm|perfectly|got|exactly|answers|perfect|fixed|fixes|"
    "missed|clearing|cleared|resolves|resolved|all|everything",
    r"\b(?:this|that|it|which|\w+ing \S{1,20}(?: \S{1,20}){0,2})"
    r" (?:solves|solved|fixe[sd]|resolve[sd]) (?:it|my problem|the (?:\w+ )?(?:problem|issue))\b",
    r"\bfound (?:it\b|the (?:problem|cause|bug|culprit|reason|solution|answer)|out (?:what|why|that i))",
    r"^\W{0,4}(?:(?:great|perfect|cool|ok(?:ay)?|thanks|yes)[,.! ]+)?(?:it's |its |it is )?(?:all|everything)"
    r"(?: is|'s)? (?:working|works|good|fine|fixed|sorted)(?: (?:fine|great|well))?(?: now| again)\b",
    r"\bworks (?:like a charm|perfectly|great now|fine now|as expected now)\b",
    r"\bexactly what i(?:'m| am| was|'ve been)? (?:need(?:ed)?|want(?:ed)?|looking for|after)\b",
    r"\b(?:thanks|thank you),? i (?:had )?(?:missed|overlooked) (?:that|this|it)\b|"
    r"\bclear(?:ing|ed) (?:that|this|it) up\b",
)
_TAKEN_BACK = re.compile(r"\b(?:but|however|except|would|if|before|others?)\b|n't\b|\bnot\b")
_SETBACK = re.compile(
    r"\b(?:but|however|although|though|except|still|another|before|"
    r"others?|hope|might|maybe|should|could|would|if|will|only|until|not|never|hardly|fails?|again)\b|n't\b"
)
"""Words of an asker who is not content yet."""
_NEVER_MIND = re.compile(r"\bnever ?mind\b")
_THANKS_FOR = re.compile(
    r"\b(?:thanks|thank you|thx)\b.{0,40}\bfor (?:the|your|all|any)"
    r" (?:\w+ ){0,2}(?:repl\w+|response|answers?|tips?|suggestions?|advice|pointers?|links?|hints?)\b"
)
_FEW = 4
_SHORT_EXCHANGE = 6
_OFFERS_TEXT = re.compile(
    r"\b(?:how|what) about (?:this|the following|adding|saying|changing)\b|"
    r"\b(?:use|adopt|take) (?:your|this|that) (?:\w+ )?(?:text|wording|suggestion)\b|"
    r"\b(?:new|proposed|suggested|following|updated|revised) (?:text|wording|sentence|paragraph)\b"
)
_CONTENT = Cue(
    "works|good|fine|great|addresses|resolves|satisfied|happy|perfect|ok|okay|better",
    r"\b(?:that|this|it|all|both|these|those)(?: all| both)? (?:works?|looks? (?:good|fine|"
    r"great)|is (?:fine|good|great|perfect|better|much better)|are fine)(?: (?:for|to|with|by) me)?[.,!]*$",
    r"\bi(?:'m| am) (?:fine|happy|ok|okay|satisfied|good) with (?:that|this|the|your|it|these|those)\b",
)
"""Words of a reviewer who is content."""
_INSTRUCTS = Cue(
    "you|try|use|see|call|set|add|run|look|check|pass",
    r"\byou (?:need to|should|"
    r"have to|must|(?:just |probably |might |may )?want to|can (?:use|call|set|find|do|pass|add|get|try))\b",
    r"^\W{0,4}(?:just |then |instead,? )?(?:try|use|call|set|add|run|pass) (?!this list|the list|google)\w",
)
_ELSEWHERE = re.compile(
    r"\b(?:mailing[- ]?list|\S+-list|wrong list|this list|ask (?:on|in|your|the)|off-?topic)\b"
)
"""A mail that sends the asker elsewhere answers nothing."""
_YET_TO_TRY = re.compile(
    r"\b(?:try|trying|test|check|look|see if|investigate|report back|let you know|in advance|shot|"
    r"unfortunately|sadly|a go|experiment|(?:will|'ll|going to) (?:\w+ )?(?:report|file|open|ask|post|raise))"
    r"\b"
)

_FAILED = re.compile(
    r"\bno,? thanks?\b|"
    r"\bthanks? for nothing\b|\b(?:but|however) (?:no|that|it|this|i)\b|\bno luck\b|\bstill\b|"
    r"\bsame (?:error|problem|result)\b|\bworse\b|\bcrash\w*\b|n't (?:work|help)\b|\bnot (?:work|help)\b"
)
_CLOSES = re.compile(r"\bnot (?:discuss|argue|go on|continue|bother)\b")
"""An asker who breaks off is not content."""


def of_asking(ending: Evidence) -> Ending:
    thread = ending.thread
    asker = thread.root.person
    others = [mail for mail in thread.mails if mail.person != asker]
    if not others:
        return unknown(OutcomeKind.UNANSWERED, "no answer")
    later = [mail for mail in thread.mails[1:] if mail.person == asker]
    solved = [sentence for mail in later for sentence in mail.sentences if _is_solved(sentence)]
    solved = [sentence for sentence in solved if not _is_courtesy(thread, sentence)]
    settled = solved[-1] if solved and not _asks_again(thread, later, solved[-1]) else None
    if reported := _of_report(ending, others, later):
        return reported
    # On lists about a text a report is a review. Thanks do not settle it, but the next version does.
    if settled is not None and thread.preset is not Preset.IETF:
        return Ending(OutcomeKind.ANSWERED, ConsensusBasis.UNKNOWN, "solved", sure=True, evidence=settled)
    is_answered = any(map(_gives_answer, others)) and _keeps_subject(thread)
    # An asker who comes back without thanks is not content. An asker who stays away usually is.
    if later and _is_thankful(later[-1]):
        return _of_thanks(ending, later[-1], is_answered=is_answered)
    sure = ending.genre.kind is Genre.QUESTION and ending.genre.tier is Tier.SAID and is_answered
    if later and thread.preset is not Preset.IETF:
        return unknown(
            OutcomeKind.ANSWERED, "told again", sure=sure and _is_answered_again(thread, later[-1])
        )
    return unknown(OutcomeKind.ANSWERED, "told", sure=sure and not later)


def _of_thanks(ending: Evidence, last: LinkedMail, *, is_answered: bool) -> Ending:
    """Return an ending by the asker's thanks, unless another person asks or denies after them."""
    is_asked = ending.genre.kind in {Genre.QUESTION, Genre.REPORT} and ending.thread.preset is not Preset.IETF
    ends = _is_content(last) and not _is_disputed_after(ending.thread, last)
    if not (is_asked and is_answered and ends):
        return unknown(OutcomeKind.ANSWERED, "thanked")
    thanks = next(sentence for sentence in last.sentences if THANKS.finds(sentence))
    return Ending(OutcomeKind.ANSWERED, ConsensusBasis.UNKNOWN, "thanked", sure=True, evidence=thanks)


def _is_answered_again(thread: LinkedThread, last: LinkedMail) -> bool:
    """Return whether a short exchange answered the asker's last mail without asking back."""
    after = [mail for mail in thread.mails[last.number + 1 :] if mail.person != last.person]
    return len(thread.mails) <= _SHORT_EXCHANGE and any(
        mail.parent == last.number and _gives_answer(mail) and not mail.asks for mail in after
    )


def _of_report(ending: Evidence, others: list[LinkedMail], later: list[LinkedMail]) -> Ending | None:
    """Return an ending by a fix or a promised edit, if the reporter asks nothing more."""
    is_report = ending.genre.kind is Genre.REPORT and ending.genre.tier is Tier.SAID
    if not is_report or (later and (later[-1].asks or later[-1].has(DOUBTS))):
        return None
    remarks = chain.from_iterable(mail.sentences for mail in others)
    fixed = [sentence for sentence in remarks if _FIXED.finds(sentence) and not _is_open(sentence)]
    if fixed:
        return Ending(OutcomeKind.ANSWERED, ConsensusBasis.UNKNOWN, "fixed", sure=True, evidence=fixed[-1])
    edited = [
        word for word in ending.settlements.edited if word.sentence.mail > 0 and not _is_open(word.sentence)
    ]
    if edited and ending.thread.preset is Preset.IETF and ending.settlements.edits_a_text:
        return ended_by(OutcomeKind.REVISED, edited[-1], ConsensusBasis.UNKNOWN, "will be edited", sure=True)
    return of_offered_text(ending)


def of_offered_text(ending: Evidence) -> Ending | None:
    """Return an ending on a list about a text, if others offer a change and the asker ends content."""
    mails = ending.thread.mails
    last = mails[-1]
    is_end = last.number > 1 and last.person == ending.thread.root.person and len(last.sentences) <= _FEW
    if not is_end or ending.thread.preset is not Preset.IETF or last.asks:
        return None
    words = [
        sentence
        for sentence in last.sentences
        if _CONTENT.finds(sentence) and not _SETBACK.search(sentence.folded)
    ]
    offered = any(mail.matches(_OFFERS_TEXT) for mail in mails if mail.person != last.person)
    kind = OutcomeKind.REVISED
    if not words and _is_thankful(last) and _says_little_else(last):
        # The thanks are for offered words or for a promised change, and for nothing less.
        words = [sentence for sentence in last.sentences if THANKS.finds(sentence)]
        # A proposal with a promise in a few mails is accepted as proposed. A review changes a text.
        as_proposed = not offered and ending.genre.kind is not Genre.REPORT and len(mails) <= _FEW
        kind = OutcomeKind.ACCEPTED if as_proposed else kind
        offered = offered or bool(ending.settlements.edited)
    if not words or not offered:
        return None
    return Ending(kind, ConsensusBasis.UNKNOWN, "content", sure=True, evidence=words[-1])


def _is_open(sentence: OwnSentence) -> bool:
    return sentence.asks or NEGATION.finds(sentence) or CONDITION.finds(sentence)


def _keeps_subject(thread: LinkedThread) -> bool:
    """Return whether the thread kept its subject. With a new subject it went on to something else."""
    first, last = (
        " ".join(split_subject(mail.mail.subject).text.casefold().split())
        for mail in (thread.root, thread.mails[-1])
    )
    return first == last


def _is_thankful(mail: LinkedMail) -> bool:
    """Return whether a mail has thanks and names nothing that is still wrong."""
    return mail.has(THANKS) and not any(
        sentence.asks or DOUBTS.finds(sentence) or OPEN.finds(sentence) for sentence in mail.sentences
    )


def _is_content(mail: LinkedMail) -> bool:
    """Return whether the writer neither reports a failure nor breaks off."""
    return not _is_to_be_tried(mail) and not mail.matches(_FAILED)


def _is_disputed_after(thread: LinkedThread, last: LinkedMail) -> bool:
    return any(
        sentence.asks or DOUBTS.finds(sentence) or NEGATION.finds(sentence)
        for mail in thread.mails[last.number + 1 :]
        for sentence in mail.sentences
    )


def _is_to_be_tried(mail: LinkedMail) -> bool:
    return mail.matches(_YET_TO_TRY) or mail.matches(_CLOSES)


def _says_little_else(mail: LinkedMail) -> bool:
    """Return whether a mail has thanks and little else, and nothing that is yet to be tried."""
    return (
        len(mail.sentences) <= _FEW
        and not _is_to_be_tried(mail)
        and not any(CONDITION.finds(sentence) or NEGATION.finds(sentence) for sentence in mail.sentences)
    )


def _is_solved(sentence: OwnSentence) -> bool:
    if sentence.asks:
        return False
    if _HELPED.finds(sentence):
        return not _SETBACK.search(_NEVER_MIND.sub("", sentence.folded))
    return SOLVED.finds(sentence) and not _TAKEN_BACK.search(sentence.folded)


def _is_courtesy(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """Return whether thanks for an answer are a mere courtesy, because others write on."""
    weak = _THANKS_FOR.search(sentence.folded) and not _HELPED.finds(sentence)
    return bool(weak) and thread.mails[-1].person != thread.mail_of(sentence).person


def _asks_again(thread: LinkedThread, later: list[LinkedMail], content: OwnSentence) -> bool:
    """Return whether the asker asks again right after, or in a last mail near the end."""
    if any(sentence.asks for sentence in thread.mail_of(content).sentences[content.index :]):
        return True
    near_end = later[-1].number >= max(2, len(thread.mails) - 2)
    return near_end and later[-1].asks


def _gives_answer(mail: LinkedMail) -> bool:
    """Return whether a mail gives an answer: several sentences, or an instruction."""
    own = [sentence for sentence in mail.sentences if not sentence.asks]
    if sum(len(sentence.text) > 40 for sentence in own) >= 2:  # noqa: PLR2004
        return True
    return any(map(_INSTRUCTS.finds, own)) and not mail.matches(_ELSEWHERE)
