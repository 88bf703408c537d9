"""Finds sentences that settle something: rulings, acceptance, vote results, promises, withdrawals.

Only people whom the source names decide. The same words of other people are quoted as a possible decision.
"""

import re
from dataclasses import dataclass, field

from shared.models.values import Preset, PropositionForm
from shared.reading import closings, cues
from shared.reading.closings import Ruling
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence
from shared.reading.proposal import Proposal, matter_of
from shared.reading.stances import TROUBLE, accepts, accepts_pull_request, is_of_it, takes_nothing_back

DECIDING_ROLES = frozenset(
    ("maintainer", "chair", "editor", "shepherd", "release manager", "area director", "secretary")
) | {"rapporteur"}
"""Roles whose holder may settle something alone. A binding voter only votes."""
_CONDITION = re.compile(
    r"\b(?:if|unless|once|until|when|after|before|should|would|could|might|may|not yet)\b"
)
_HOPES = re.compile(r"\b(?:hope|hopes|hoping|wish|expect|expected|want|wants|whether|soon)\b")
_NEXT_VERSION = re.compile(
    r"\b(?:next|updated|new|upcoming|revised) (?:version|revision|draft|reroll|iteration|spin|patchset)\b|"
    r"\b(?:updated|revised) (?:patch|series)\b|\bre-?(?:roll|spin)\b|"
    r"\bv\d\b|\bupdated? (?:the|my|our) (?:draft|document|text|proposal|patch|charter)\b"
)
_SENDS_AGAIN = re.compile(
    r"(?:\b(?:i|we)(?:'ll| will|'m going to| am going to| are going to)|^\W{0,4}(?:(?:ok(?:ay)?|"
    r"sure|yes|yeah|thanks|right|agreed|oops)[,.! ]+){0,2}will) (?:(?:\w+ ){1,5}and )?(?:then |"
    r"also |now |certainly |just |soon |will |have to )?(?:re-?send|re-?submit|re-?post|re-?roll|"
    r"re-?spin|push v\d|send (?:an? |the )?(?:v\d|(?:new|updated|next) (?:version|patch|series|revision)))\b|"
    r"\bin (?:the|my) next (?:posting|submission)\b|\bnew (?:patch|series) (?:is |was )?(?:sent|posted)\b|"
    r"\bi(?:'ve| have)? (?:just )?(?:re-?)?(?:sent|posted) (?:a |the )?new (?:patch|series|version)\b"
)
"""An author sends the work again, with the remarks on it."""
_NO_PROMISE = re.compile(r"\b(?:if|unless|maybe|perhaps|only|asked|unchanged|when|might|may|could)\b")
_IF_WANTED = re.compile(
    r"\bif (?:needed|necessary|required|asked|wanted|you (?:want|like|prefer|think|insist))\b"
)
"""An offer, which is no promise."""
_AS_IT_IS = re.compile(
    r"\W{0,4}(?:ok(?:ay)?,? |thanks,? )?(?:will queue|queued|applied|merged)\b.{0,40}\bas[- ]is\b"
)
_EDITS = re.compile(
    r"\b(?:will|'ll|shall)"
    r" (?:\w+ ){0,2}(?:edit|incorporate|update|fix|correct|change|clarify|reword|add|include|address)\b"
)
_NEGATES = re.compile(
    r"n't\b|\b(?:not|no|never|nothing|without|cannot|nor|hardly|unlikely|neither|none|nobody)\b"
)
_IF = re.compile(r"\b(?:if|unless|until|would|could|might|may|yet)\b")
_IF_ONLY = re.compile(r"\b(?:if|unless|would|could|might|may)\b")
_UNCLEAR = re.compile(r"\b(?:consensus|agreed|decided|concluded|resolved|resolution)\b")
DECLARED = "declared"
"""The act of a ruling that tells the result, and not only that the call is over."""
_OBJECTION = re.compile(r"\b(?:objections?|concerns?|veto(?:es)?|discuss|comments?|votes?)\b|-1\b")
"""Nouns in the summary of a call. If these are withdrawn, the proposal is not."""
_DENIES = re.compile(
    r"\b(?:no|not|never|lack of|without|isn't|wasn't|don't|didn't|hasn't|neither)\b(?: \w+){0,4} "
    r"(?:consensus|adopted|agreed|accepted|approved|agreement|passed|passes|concluded|closed|over)\b"
)
_NOTED = cues.Cue(
    "noted|postponed|pursued|treated",
    r"\b(?:is|was|are|were|to be) (?:\w+ )?(?:noted|postponed|not pursued|not treated)\b",
)
_SETTLES = cues.Family(
    *(
        *cues.CLOSINGS,
        closings.DECIDES,
        closings.HAS_DECIDED,
        closings.NOT_READY,
        cues.UNOPPOSED,
        closings.RULES,
        cues.REJECTS,
        _NOTED,
        cues.ADVANCES,
        cues.PUTS_OFF,
        cues.ACCEPTS,
        cues.THANKS,
        cues.WITHDRAWS,
        cues.PROMISES,
    )
)
"""All wordings that settle something. A sentence that triggers none needs no second look."""
_CALLED = frozenset({PropositionForm.VOTE, PropositionForm.CALL})
_LONGEST, _LONGEST_ACCEPTANCE, _SHORT_ACCEPTANCE = 500, 250, 12


@dataclass(frozen=True, slots=True)
class EndingWord:
    """A sentence that settles something, what it does, and the role of its writer."""

    sentence: OwnSentence
    act: str
    role: str | None


@dataclass(slots=True)
class Settlements:
    accepted: list[EndingWord] = field(default_factory=list)
    ruled: list[EndingWord] = field(default_factory=list)
    advanced: list[EndingWord] = field(default_factory=list)
    """A role holder passes the text of a call on."""
    put_off: list[EndingWord] = field(default_factory=list)
    """A role holder postpones the question of a call."""
    rejected: list[EndingWord] = field(default_factory=list)
    declined: list[EndingWord] = field(default_factory=list)
    """A role holder says that the group does not support what the call asks."""
    undecided: list[EndingWord] = field(default_factory=list)
    """A role holder says that there is no consensus."""
    unready: list[EndingWord] = field(default_factory=list)
    """A role holder says that the subject of the call has to wait."""
    chosen: list[EndingWord] = field(default_factory=list)
    """A role holder names the chosen option."""
    decided: list[EndingWord] = field(default_factory=list)
    """A role holder names a decision, in words that do not show its direction."""
    tallies: list[EndingWord] = field(default_factory=list)
    """A role holder counts who stands where."""
    passed: list[EndingWord] = field(default_factory=list)
    cancelled: list[EndingWord] = field(default_factory=list)
    withdrawn: list[EndingWord] = field(default_factory=list)
    done: list[EndingWord] = field(default_factory=list)
    """The proposer says that nobody was against it, so it was done."""
    promised: list[EndingWord] = field(default_factory=list)
    """The proposer takes remarks over."""
    edited: list[EndingWord] = field(default_factory=list)
    """Another person says that they will do what was asked."""
    claimed: list[EndingWord] = field(default_factory=list)
    """Ruling words of a person without a role, which are quoted but decide nothing."""
    taken: list[EndingWord] = field(default_factory=list)
    """Words of acceptance by a person without a role."""

    def ruled_after(self, word: EndingWord) -> bool:
        return any(ruling.sentence.mail > word.sentence.mail for ruling in self.ruled)

    @property
    def edits_a_text(self) -> bool:
        """Whether another person than the proposer promises a change of the discussed text."""
        return any(_EDITS.search(word.sentence.folded) for word in self.edited)

    @property
    def asks_for_changes(self) -> bool:
        """Whether the person who passes it on names a new version, or a change is promised."""
        return bool(self.promised or self.edited) or any(
            _NEXT_VERSION.search(word.sentence.folded) for word in self.advanced
        )

    @property
    def promised_next(self) -> list[EndingWord]:
        """The proposer's promises that name the version that will keep them."""
        return [
            word
            for word in self.promised
            if _NEXT_VERSION.search(word.sentence.folded) or _sends_again(word.sentence)
        ]

    @property
    def names_next_version(self) -> bool:
        return bool(self.promised_next)


def read_settlements(thread: LinkedThread, proposal: Proposal) -> Settlements:
    reader = _SettlementReader(thread, proposal)
    for mail in thread.mails:
        # The proposal's own announcements ("I have applied this locally") settle nothing.
        if mail.number in proposal.mails or mail.is_patch:
            continue
        reader.read_mail(mail)
    return reader.found


def _after_a_version(sentence: OwnSentence) -> bool:
    """Return whether the only term is a new version, so that the text goes on with changes."""
    return bool(_NEXT_VERSION.search(sentence.folded)) and not cues.NEGATION.finds(sentence)


def _is_only_over(sentence: OwnSentence) -> bool:
    return bool(cues.CLOSES.search(sentence.folded)) and closings.ruling_of(sentence, "") is None


def _sends_again(sentence: OwnSentence) -> bool:
    return bool(_SENDS_AGAIN.search(sentence.folded)) and not _NO_PROMISE.search(sentence.folded)


class _SettlementReader:
    """Adds each sentence that settles something to the first list that fits."""

    def __init__(self, thread: LinkedThread, proposal: Proposal) -> None:
        self._thread = thread
        self._proposal = proposal
        self._matter = matter_of(proposal)
        self.found = Settlements()

    def read_mail(self, mail: LinkedMail) -> None:
        role = self._role(mail)
        by_proposer = self._is_proposer(mail)
        for sentence in mail.sentences:
            if (
                role
                and cues.TALLY.finds(sentence)
                and not sentence.asks
                and not _IF_ONLY.search(sentence.folded)
            ):
                self.found.tallies.append(EndingWord(sentence, "tally", role))
            may_settle = _SETTLES.may_find(sentence) or (role and closings.may_rule(sentence))
            if may_settle and not sentence.asks and len(sentence.text) <= _LONGEST:
                self._read_sentence(sentence, role, by_proposer=by_proposer)

    def _read_sentence(self, sentence: OwnSentence, role: str | None, *, by_proposer: bool) -> None:
        _ = (
            self._record_closing(sentence, role, by_proposer=by_proposer)
            or self._record_done(sentence, by_proposer=by_proposer)
            or self._record_ruling(sentence, role)
            or self._record_passing_on(sentence, role)
            or (not by_proposer and self._record_acceptance(sentence, role))
            or self._record_own_word(sentence, role, by_proposer=by_proposer)
        )

    def _is_proposer(self, mail: LinkedMail) -> bool:
        """Return whether the sender is the proposer, by address, because anybody can write the name."""
        thread = self._thread
        return any(thread.people.may_speak_for(mail.number, number) for number in self._proposal.mails)

    def _role(self, mail: LinkedMail) -> str | None:
        holder = self._thread.people.role(mail.number)
        if holder is None or holder.role not in DECIDING_ROLES:
            return None
        return None if mail.matches(cues.IN_PERSON) else holder.role

    def _record_closing(self, sentence: OwnSentence, role: str | None, *, by_proposer: bool) -> bool:
        """Record the end of a vote or call by its caller or a role holder."""
        closing = cues.closing_of(sentence) if self._proposal.form in _CALLED else None
        if closing is None:
            return False
        if by_proposer or role:
            words = self.found.cancelled if closing == "cancelled" else self.found.passed
            words.append(EndingWord(sentence, "closed", role or "proposer"))
        return True

    def _record_done(self, sentence: OwnSentence, *, by_proposer: bool) -> bool:
        if (
            not by_proposer
            or not cues.UNOPPOSED.finds(sentence)
            or cues.ON_WHAT_TERMS.search(sentence.folded)
        ):
            return False
        self.found.done.append(EndingWord(sentence, "done", None))
        return True

    def _record_ruling(self, sentence: OwnSentence, role: str | None) -> bool:
        if cues.REPORTED.finds(sentence):
            return False
        if role:
            return self._record_role_ruling(sentence, role)
        rules = closings.RULES.finds(sentence) and not _DENIES.search(sentence.folded)
        if rules and (_CONDITION.search(sentence.folded) or _HOPES.search(sentence.folded)):
            return False
        if not rules and not closings.DECIDES.finds(sentence):
            return False
        self.found.claimed.append(EndingWord(sentence, "ruled" if rules else "decided", None))
        return True

    def _record_role_ruling(self, sentence: OwnSentence, role: str) -> bool:
        words = self._list_for_ruling(sentence)
        if words is None:
            return False
        declared = words is self.found.ruled and not _is_only_over(sentence)
        words.append(EndingWord(sentence, DECLARED if declared else "ruled", role))
        if words is self.found.ruled and not declared:
            self._record_passing_on(sentence, role)  # "The call is over, and I am sending it to the IESG."
        return True

    def _list_for_ruling(self, sentence: OwnSentence) -> list[EndingWord] | None:
        found = self.found
        if self._is_unready(sentence):
            return found.unready
        is_patch = self._proposal.form is PropositionForm.PATCH
        ruling = None if is_patch else closings.ruling_of(sentence, self._matter)
        if ruling is not None:
            return {
                Ruling.FOR: found.ruled,
                Ruling.AGAINST: found.declined,
                Ruling.NONE: found.undecided,
                Ruling.CHOSEN: found.chosen,
                Ruling.UNKNOWN: found.decided,
            }[ruling]
        return found.rejected if self._denies(sentence) else self._list_for_other_ruling(sentence)

    def _list_for_other_ruling(self, sentence: OwnSentence) -> list[EndingWord] | None:
        """Return the list for ruling words that show no direction of their own."""
        found, folded = self.found, sentence.folded
        if not closings.RULES.finds(sentence) or _DENIES.search(folded):
            decides = closings.DECIDES.finds(sentence) or closings.HAS_DECIDED.finds(sentence)
            return found.decided if decides else None
        if _CONDITION.search(folded) or _HOPES.search(folded):
            return None
        # These words do not show a direction, so they are quoted.
        is_over = cues.CLOSES.search(folded) or self._proposal.form is PropositionForm.PATCH
        return found.decided if _UNCLEAR.search(folded) and not is_over else found.ruled

    def _record_passing_on(self, sentence: OwnSentence, role: str | None) -> bool:
        if not role or self._proposal.form is not PropositionForm.CALL:
            return False
        if cues.ADVANCES.finds(sentence) and (self._is_plain(sentence) or _after_a_version(sentence)):
            self.found.advanced.append(EndingWord(sentence, "advanced", role))
        elif cues.PUTS_OFF.finds(sentence) and not cues.NEGATION.finds(sentence):
            self.found.put_off.append(EndingWord(sentence, "put off", role))
        else:
            return False
        return True

    def _is_plain(self, sentence: OwnSentence) -> bool:
        """Return whether nothing except objections is denied, and no terms are set."""
        if cues.ON_WHAT_TERMS.search(sentence.folded):
            return False
        return not cues.NEGATION.finds(sentence) or not _NEGATES.search(cues.HAPPY.sub("", sentence.folded))

    def _is_unready(self, sentence: OwnSentence) -> bool:
        if self._proposal.form is not PropositionForm.CALL or not closings.NOT_READY.finds(sentence):
            return False
        return not _HOPES.search(sentence.folded) and not _IF_ONLY.search(sentence.folded)

    def _denies(self, sentence: OwnSentence) -> bool:
        if cues.REJECTS.finds(sentence) or (
            closings.RULES.finds(sentence) and _DENIES.search(sentence.folded)
        ):
            return True
        return self._thread.preset is Preset.THREEGPP and _NOTED.finds(sentence)

    def _record_acceptance(self, sentence: OwnSentence, role: str | None) -> bool:
        if role and accepts_pull_request(self._thread, self._proposal, sentence):
            self.found.accepted.append(EndingWord(sentence, "accepted", role))
            return True
        if not accepts(sentence) or len(sentence.folded) > _LONGEST_ACCEPTANCE:
            return False
        if not role and TROUBLE.search(sentence.folded):
            return False
        if not is_of_it(self._thread, self._proposal, sentence):
            return True
        short = role and not cues.NEGATION.finds(sentence) and len(sentence.words) < _SHORT_ACCEPTANCE
        as_it_is = role and _AS_IT_IS.match(sentence.folded)
        if short or as_it_is or takes_nothing_back(self._thread, sentence):
            words = self.found.accepted if role else self.found.taken
            words.append(EndingWord(sentence, "accepted", role))
        return True

    def _record_own_word(self, sentence: OwnSentence, role: str | None, *, by_proposer: bool) -> bool:
        if by_proposer and cues.WITHDRAWS.finds(sentence) and not _OBJECTION.search(sentence.folded):
            self.found.withdrawn.append(EndingWord(sentence, "withdrawn", None))
        elif self._promises(sentence, by_proposer=by_proposer) and not cues.NEGATION.finds(sentence):
            words = self.found.promised if by_proposer else self.found.edited
            words.append(EndingWord(sentence, "promised", role))
        else:
            return False
        return True

    def _promises(self, sentence: OwnSentence, *, by_proposer: bool) -> bool:
        if _IF_WANTED.search(sentence.folded):
            return False
        if cues.PROMISES.finds(sentence):
            return True
        return by_proposer and _sends_again(sentence)
