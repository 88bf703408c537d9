"""Finds the sentences that state where their writer stands, by place and wording.

The same words may be a position or not, depending on what they answer. The reader checks whether a sentence
answers the proposal, whether it states a stance, and whether anything in it or near it takes the stance back.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from shared.mail.subjects import split_subject
from shared.models.values import PositionStance, PropositionForm
from shared.reading import call_answers, cues, stance_cues, stances
from shared.reading.call_answers import Of
from shared.reading.closings import settles_it
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import OwnSentence, word_key
from shared.reading.proposal import (
    Proposal,
    acts_in,
    has_proposal,
    matter_of,
    proposes_something,
    tells_a_result,
)
from shared.reading.votes import Ballot, is_legend

SAID_RULES = {
    "vote": 0.97, "trailer": 0.97, "acceptance": 0.95, "words": 0.92,
    **dict.fromkeys((
        "ack", "taken", "approval by name", "approval", "exclamation", "agreement", "chain", "will do",
        "words in a call", "agreement in a call", "objection", "words to what is put",
        "approval of what is put", "agreement with what is put",
        "plain answer", "keeps what is", "consent to what is put", "objection to what is put",
        "objection in a call", "words for the act",

    ), 0.9),
}  # fmt: skip
"""Rules whose claims are stated, with their confidence: 0.9, or more if more was measured right
(docs/reading.md has the counts). A claim by any other rule is a remark."""
ACTS = frozenset({"acceptance", "trailer", "vote"})
"""Rules by which a person acts. An act outweighs earlier remarks."""


_SUPPORT, _OPPOSE = PositionStance.SUPPORT, PositionStance.OPPOSE
_SHORT = 160
_LONGEST_YES = 60
_MIN_CONTENT_LETTERS, _NEAR_WORDS = 3, 3
_COMMON_WORDS = (
    "and the that this for with not but are was has have had its our your you they them some any "
    "all just also now too very think idea good great plan proposal would could should getting "
    "making doing having using really"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_SMALL_THREAD = 10
_WILL_DO = cues.Cue(
    "i'll|we'll|will",
    r"\b(?:i|we)(?:'ll| will) (?:also |then |certainly |definitely |gladly )?(?:update|"
    r"edit|fix|change|add|correct|clarify|incorporate|include|reword|remove|apply|make|do)\b",
    r"^\W{0,4}(?:ok(?:ay)?|yes|sure|good point|thanks)?[,. ]{0,3}will (?:do|fix|update|change|add|correct)\b",
)
_STANCES = cues.Family(
    *(
        _WILL_DO,
        stance_cues.OPPOSES,
        cues.ACCEPTS,
        stance_cues.AGREES,
        stance_cues.NO_OBJECTION,
        stance_cues.EXCLAIMS,
        stance_cues.GOOD_IDEA,
        stance_cues.SUPPORTS_SOMETHING,
        cues.THANKS,
    ),
    *(stance_cues.SPEAKS_AGAINST, stance_cues.ACKS, stance_cues.KEEPS, stance_cues.READY),
    *(*stance_cues.SUPPORTS.cues, *stance_cues.APPROVES.cues),
)
"""All wordings of a stance. A sentence that triggers none needs no second look."""
_ASKED = frozenset({PropositionForm.CALL, PropositionForm.VOTE})
_IN_A_CALL = {(True, True): (_SUPPORT, "words in a call"), (False, True): (_OPPOSE, "objection in a call")}
"""The claim of an answer to a call, by whether it is for the call and about it."""
_PRAISE = frozenset({"approval", "agreement", "exclamation"})


@dataclass(slots=True)
class StanceClaim:
    """One sentence that states where its writer stands, and the rule that found it."""

    sentence: OwnSentence
    person: str
    stance: PositionStance
    rule: str
    answers: int | None
    binding: bool | None = None
    before: "StanceClaim | None" = None
    """The voter's last vote of another value, if the vote was changed."""


def read_claims(thread: LinkedThread, proposal: Proposal, ballots: dict[str, Ballot]) -> list[StanceClaim]:
    """Return every claim that a sentence makes when it is read alone in its place."""
    claims = [
        _vote_claim(thread, ballot)
        for ballot in ballots.values()
        if ballot.value and ballot.person not in proposal.proposers
    ]
    reader = _ClaimReader(thread, proposal)
    for mail in thread.mails:
        if mail.person == proposal.person or mail.person in ballots or mail.is_machine:
            continue
        for sentence in mail.sentences:
            claim = reader.claim(sentence, mail)
            # A person who brings another version may accept this one ("Will queue"), but not praise it.
            if claim is not None and (claim.rule in ACTS or not _praises_own(claim, proposal)):
                claims.append(claim)
    return claims


def _praises_own(claim: StanceClaim, proposal: Proposal) -> bool:
    if claim.person in proposal.proposers:
        return True
    return claim.person in proposal.namesakes and claim.stance is not _OPPOSE


def _vote_claim(thread: LinkedThread, ballot: Ballot) -> StanceClaim:
    before = ballot.before
    return StanceClaim(
        ballot.sentence,
        ballot.person,
        _SUPPORT if ballot.value > 0 else _OPPOSE,
        "vote",
        thread.answered(ballot.sentence),
        binding=ballot.binding,
        before=_vote_claim(thread, before) if before is not None and before.value else None,
    )


def _may_take_a_stance(sentence: OwnSentence) -> bool:
    may_find = _STANCES.may_find(sentence) or "-by:" in sentence.folded or _says_yes_or_no(sentence)
    return may_find and not is_legend(sentence)


def _says_yes_or_no(sentence: OwnSentence) -> bool:
    return len(sentence.folded) <= _LONGEST_YES and (
        stance_cues.ASSENTS.finds(sentence)
        or stance_cues.REFUSES.finds(sentence)
        or stance_cues.NAYS.finds(sentence)
    )


def _announces(mail: LinkedMail) -> bool:
    return tells_a_result(mail.mail.subject) or any(map(cues.ANNOUNCES.finds, mail.sentences[:6]))


class _ClaimReader:
    def __init__(self, thread: LinkedThread, proposal: Proposal) -> None:
        self.thread = thread
        self.proposal = proposal
        self.form = proposal.form
        self.by_mail: dict[int, list[StanceClaim]] = defaultdict(list)
        words = proposal.words.folded if proposal.words else ""
        self.matter = f"{split_subject(proposal.mail.mail.subject).text.lower()} {words}"
        """The words of the proposal: its subject and its best sentence."""
        self.announces = _announces(proposal.mail)
        self.call = matter_of(proposal) if proposal.form in _ASKED else ""
        """The text of a formal call, which answers are compared with."""
        self.decidable = has_proposal(proposal) or (not self.announces and proposes_something(proposal))
        # A patch that comes up under a status mail or a notice is not proposed to the group.
        self.is_aside = (
            proposal.mail is not thread.root
            and not proposal.mail.is_patch
            and proposal.form not in _ASKED
            and _announces(thread.root)
        )

    def claim(self, sentence: OwnSentence, mail: LinkedMail) -> StanceClaim | None:
        found = self._stance(sentence, mail)
        if found is None:
            return None
        stance, rule = found
        claim = StanceClaim(sentence, mail.person, stance, rule, self.thread.answered(sentence))
        self.by_mail[mail.number].append(claim)
        return claim

    def _stance(self, sentence: OwnSentence, mail: LinkedMail) -> tuple[PositionStance, str] | None:
        may_answer = bool(self.call) and call_answers.may_answer(sentence)
        if not (may_answer or _may_take_a_stance(sentence)) or not self._is_about_something(sentence):
            return None
        if trailer := cues.TRAILER.match(sentence.text):
            return self._trailer(trailer, mail)
        towards = stances.relation(self.thread, self.proposal, sentence)
        named = self._named_in_call(sentence, towards)
        if named is not None:
            return _IN_A_CALL.get(named)
        if stance_cues.OPPOSES.finds(sentence):
            return self._opposition(sentence, towards)
        return self._in_any_thread(sentence, mail, towards)

    def _named_in_call(self, sentence: OwnSentence, towards: str) -> tuple[bool, bool] | None:
        """Return whether an answer to a formal call is for it, and whether it is about the call."""
        named = call_answers.stance_in_call(sentence, self.call) if self.call else None
        if named is None or (named[1] is Of.ITSELF and not self._is_to_the_call(sentence, towards)):
            return None
        return named[0], named[1] is not Of.OTHER

    def _in_any_thread(
        self, sentence: OwnSentence, mail: LinkedMail, towards: str
    ) -> tuple[PositionStance, str] | None:
        if self._objects_to_the_words(sentence, towards):
            return _OPPOSE, "objection to what is put"
        is_change = self.form is not PropositionForm.PATCH and stances.UNDOES.search(self.matter)
        if is_change and stance_cues.KEEPS.finds(sentence):
            return self._keeping(sentence, towards)
        return (
            self._acceptance(sentence, mail, towards)
            or self._ack(sentence, towards)
            or self._promise(sentence, towards)
            or self._support(sentence, towards)
            or self._plain_answer(sentence, towards)
        )

    def _is_to_the_call(self, sentence: OwnSentence, towards: str) -> bool:
        """Return whether a stance without an object answers the call."""
        if towards == "proposal" or (sentence.block < 0 and towards == "unknown"):
            return True
        answered = self.thread.answered(sentence)
        if sentence.block >= 0 or answered is None or not stances.keeps_quotes(self.thread):
            return False
        return not self.thread.mails[answered].has(cues.PROPOSES)

    def _ack(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        """Return support from an acknowledgment in words, in a mail without objections or doubts."""
        found = stance_cues.ACKS.search(sentence) if self.form is PropositionForm.PATCH else None
        if (
            found is None
            or towards not in {"proposal", "author"}
            or stances.ACK_LATER.search(sentence.folded)
        ):
            return None
        holds = stances.takes_nothing_back(self.thread, sentence, found) and stances.is_of_it(
            self.thread, self.proposal, sentence
        )
        others = self.thread.mail_of(sentence).sentences
        doubted = any(stance_cues.OPPOSES.finds(other) or stance_cues.DOUBTS.finds(other) for other in others)
        return (_SUPPORT, "ack") if holds and not doubted and not self._is_of_one_patch(sentence) else None

    def _promise(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        does = towards == "proposal" and _WILL_DO.finds(sentence) and self._does_as_asked(sentence)
        return (_SUPPORT, "will do") if does else None

    def _plain_answer(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        """Return a stance from a bare yes or no to a proposing question or a call."""
        if towards != "proposal" or self.form is PropositionForm.PATCH or not self._is_asked(sentence):
            return None
        following = self.thread.following(sentence)
        refuses = stance_cues.REFUSES.finds(sentence) or (
            self.form in _ASKED and stance_cues.NAYS.finds(sentence)
        )
        if not (refuses or stance_cues.ASSENTS.finds(sentence)):
            return None
        if following is not None and cues.BUT_NEXT.finds(following):
            return None
        if self._asks_who_objects:
            return (_SUPPORT, "plain answer") if refuses else None
        return (_OPPOSE if refuses else _SUPPORT), "plain answer"

    def _is_asked(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence answers a proposing question, or opens a short answer to a call."""
        if self.form not in _ASKED:
            return stances.answers_a_proposing_question(self.thread, sentence)
        return (
            sentence.index == 0
            and stances.place(self.thread, sentence) == "whole"
            and stances.answers_the_proposal(self.thread, self.proposal, sentence)
        )

    @cached_property
    def _asks_who_objects(self) -> bool:
        return self.proposal.mail.has(stance_cues.ASKS_WHO_OBJECTS)

    def _is_about_something(self, sentence: OwnSentence) -> bool:
        if self.is_aside:
            return False
        if self.decidable:
            return True
        # A status mail or a release notice proposes nothing, whatever people say about its items.
        if self.announces:
            return False
        return stances.implies_a_proposal(sentence) or (
            stances.names_a_proposal(sentence)
            or (
                bool(stances.GOOD_IDEA.search(sentence.folded))
                and stances.opens_the_answer(self.thread, sentence)
            )
        )

    def _trailer(self, trailer: re.Match[str], mail: LinkedMail) -> tuple[PositionStance, str] | None:
        """Return a stance from a trailer in the sender's own name. A patch carries the trailers of others."""
        own = trailer[3].lower() == mail.mail.address.lower() or word_key(trailer[2]) == word_key(
            display_name(mail.mail.name, mail.mail.address)
        )
        if not own or mail.is_patch or self.form is not PropositionForm.PATCH:
            return None
        return (_OPPOSE if trailer[1].lower().startswith("na") else _SUPPORT), "trailer"

    def _opposition(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        found = stance_cues.OPPOSES.search(sentence)
        if found is None or sentence.asks or stances.IF.search(sentence.folded):
            return None
        # "I don't mean I'm against it": a negation before the words reverses them.
        if stances.TURNS.search(sentence.folded[: found.start()]) or cues.REPORTED.finds(sentence):
            return None
        if stances.OF_OTHERS.search(sentence.folded):
            return None
        folded = sentence.folded
        plain = (
            stances.FIRM_NO.search(folded)
            or (stances.OBJECTS_TO_DOING.search(folded) and self._speaks_of_it(sentence))
            or (self.form is not PropositionForm.PATCH and self._names_the_act(sentence))
            or (self.form in _ASKED and stances.NO_WHEN_ASKED.search(folded))
        ) and not self._is_of_a_state(folded)
        inside = stances.place(self.thread, sentence) == "inside"
        if towards == "proposal" and plain and not inside:
            return _OPPOSE, "objection"
        if towards == "other" and not inside and self._objects_elsewhere(sentence):
            return _OPPOSE, "objection in a call" if self.form is PropositionForm.CALL else "chain"
        soft = self._objects_to_the_words(sentence, towards)
        return (_OPPOSE, "objection to what is put") if soft else (_OPPOSE, "objection elsewhere")

    def _is_of_a_state(self, folded: str) -> bool:
        """Return whether it is only against the current state, and no plain no to a call about that state."""
        words = stances.REASON.split(folded, 1)[0]
        if self.form is PropositionForm.CALL and stances.OBJECTS.search(words):
            words = stances.SO_FAR.sub("", words)
        return bool(stances.NOT_AS_IT_IS.search(words))

    def _objects_elsewhere(self, sentence: OwnSentence) -> bool:
        """Return whether an answer to another mail joins an objector, or names the act of a call."""
        folded = stances.REASON.split(sentence.folded, 1)[0]
        if (
            self.form is PropositionForm.PATCH
            or not stances.OBJECTS.search(folded)
            or self._is_of_a_state(folded)
        ):
            return False
        if stances.ALSO.search(folded) and self._stances_answered(sentence) == {_OPPOSE}:
            return True
        return self.form is PropositionForm.CALL and self._names_the_act(sentence)

    def _names_the_act(self, sentence: OwnSentence) -> bool:
        """Return whether the stance names the proposed act: "the removal" of what is to be removed."""
        found = stances.OF_WHAT.search(sentence.folded)
        return found is not None and bool(acts_in(found[2]) & acts_in(self.matter))

    def _is_for_what_goes(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence supports "the old format", which the proposal removes."""
        found = stances.OF_WHAT.search(sentence.folded)
        if found is None or found[2] in stances.ITSELF or acts_in(found[2]) & acts_in(self.matter):
            return False
        goes = self.form is not PropositionForm.PATCH and stances.UNDOES.search(self.matter)
        return bool(goes) and found[2] in re.findall(r"\w+", self.matter) and not acts_in(sentence.folded)

    def _keeping(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        """Return a stance from a wish to keep something: against its removal, or for keeping it."""
        if (
            sentence.asks
            or cues.REPORTED.finds(sentence)
            or stances.IF.search(sentence.folded)
            or towards != "proposal"
        ):
            return None
        following = self.thread.following(sentence)
        if following is not None and cues.BUT_NEXT.finds(following):
            return None
        kept, stays = stances.KEEPS_WHAT.search(sentence.folded), stances.KEEPS_WHAT.search(self.matter)
        if stays is not None:
            same = kept is not None and kept[1] == stays[1]
            return (_SUPPORT, "words") if same and stance_cues.SUPPORTS.finds(sentence) else None
        if cues.NEGATION.finds(sentence) or stances.place(self.thread, sentence) not in {"whole", "opening"}:
            return None
        return _OPPOSE, "keeps what is"

    def _consents(self, sentence: OwnSentence, towards: str) -> bool:
        """Return whether the sentence consents on a term, directly below the proposing words."""
        if (
            towards != "proposal"
            or sentence.block < 0
            or sentence.asks
            or not stance_cues.NO_OBJECTION.finds(sentence)
        ):
            return False
        plain = stances.CONDITIONAL_CONSENT.split(sentence.folded, 1)[0]
        return (
            self.form is PropositionForm.TEXT
            and plain != sentence.folded
            and not stances.TURNS.search(plain)
            and stances.answers_the_proposal(self.thread, self.proposal, sentence)
        )

    def _names_act_and_matter(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence names both the act and its object: "dropping JSON"."""
        found = stances.OF_WHAT.search(sentence.folded)
        if found is None or not self._names_the_act(sentence):
            return False
        following = re.findall(r"\w+", sentence.folded[found.end() :])[:_NEAR_WORDS]
        words = {word for word in following if len(word) >= _MIN_CONTENT_LETTERS} - _COMMON
        return not words.isdisjoint(re.findall(r"\w+", self.matter))

    def _objects_to_the_words(self, sentence: OwnSentence, towards: str) -> bool:
        """Return whether plain words oppose the proposal, first of all or directly below its words."""
        if towards != "proposal" or self.form is PropositionForm.PATCH:
            return False
        if not stance_cues.SPEAKS_AGAINST.finds(sentence) or sentence.asks or cues.REPORTED.finds(sentence):
            return False
        opens = sentence.index == 0 and stances.opens_the_answer(self.thread, sentence)
        return not stances.NOT_AS_IT_IS.search(stances.REASON.split(sentence.folded, 1)[0]) and (
            opens
            or (sentence.block >= 0 and stances.answers_the_proposal(self.thread, self.proposal, sentence))
        )

    def _acceptance(
        self, sentence: OwnSentence, mail: LinkedMail, towards: str
    ) -> tuple[PositionStance, str] | None:
        if self.form is not PropositionForm.PATCH:
            return None
        has_role = self.thread.people.role(mail.number) is not None
        if has_role and stances.accepts_pull_request(self.thread, self.proposal, sentence):
            return _SUPPORT, "acceptance"
        if not stances.accepts(sentence) or not stances.is_of_it(self.thread, self.proposal, sentence):
            return None
        if has_role:
            firm = (
                stances.FIRM_OPENING.match(sentence.folded)
                and not cues.NEGATION.finds(sentence)
                and not sentence.asks
            )
            if firm or stances.takes_nothing_back(self.thread, sentence):
                return _SUPPORT, "acceptance"
        elif self._is_taken(sentence, towards):
            return _SUPPORT, "taken"
        return None

    def _is_taken(self, sentence: OwnSentence, towards: str) -> bool:
        """Return whether a person without a role takes the patch, in answer to it or in first words."""
        if len(sentence.text) >= _SHORT or stances.TEST_RUN.search(sentence.folded):
            return False
        says_so = towards == "proposal" or (
            sentence.index <= 1 and stances.TAKEN_AT_ONCE.match(sentence.folded)
        )
        return (
            bool(says_so)
            and not stances.TROUBLE.search(sentence.folded)
            and stances.takes_nothing_back(self.thread, sentence)
        )

    def _does_as_asked(self, sentence: OwnSentence) -> bool:
        """Return whether a promise to make the change is plain and nearly all of the mail."""
        return (
            self.decidable
            and self.form is PropositionForm.TEXT
            and stances.place(self.thread, sentence) == "whole"
            and stances.takes_nothing_back(self.thread, sentence)
        )

    def _support(self, sentence: OwnSentence, towards: str) -> tuple[PositionStance, str] | None:
        if self._consents(sentence, towards):
            return _SUPPORT, "consent to what is put"
        kind = self._kind(sentence)
        cue = stances.cue_of(sentence) or (stance_cues.READY.search(sentence) if kind == "words" else None)
        if kind is None or not stances.takes_nothing_back(
            self.thread, sentence, cue, may_ask=kind == "words"
        ):
            return None
        if self._is_for_what_goes(sentence):
            return _SUPPORT, "words for what goes"
        where = stances.place(self.thread, sentence)
        is_whole = stances.is_bare(sentence) or stances.AGREES_WITH_ALL.search(sentence.text)
        if kind == "agreement" and is_whole and self._names_another(sentence):
            theirs = self._stances_of_named(sentence) if where != "inside" else set()
            return (theirs.pop(), "chain") if len(theirs) == 1 else (_SUPPORT, "agreement with another")
        if towards == "proposal":
            is_part = stances.is_partial(sentence, cue) and not stance_cues.READY.finds(sentence)
            return _SUPPORT, self._rule(sentence, kind, where, is_part=is_part)
        return self._support_elsewhere(sentence, kind, where, towards, cue)

    def _support_elsewhere(
        self, sentence: OwnSentence, kind: str, where: str, towards: str, cue: re.Match[str] | None
    ) -> tuple[PositionStance, str] | None:
        if towards == "other" and self._is_for_the_act(sentence, kind):
            return _SUPPORT, "words for the act"
        if kind == "agreement" and stances.is_bare(sentence) and where == "whole":
            return self._chain(sentence)
        if kind == "approval" and where == "whole" and self._seconds(sentence, cue):
            return _SUPPORT, "chain"
        return _SUPPORT, self._rule_elsewhere(sentence, kind, towards)

    def _is_for_the_act(self, sentence: OwnSentence, kind: str) -> bool:
        """Return whether the support names the proposed act, in answer to any mail."""
        if stances.IN_A_PRODUCT.search(sentence.folded):
            return False
        if kind == "words" and self.form is PropositionForm.CALL:
            return self._names_the_act(sentence)
        says_so = stance_cues.AGREES_TO_DOING.finds(sentence) or stances.SUPPORTS_DOING.search(
            sentence.folded
        )
        return bool(says_so) and self.form is PropositionForm.TEXT and self._names_act_and_matter(sentence)

    def _kind(self, sentence: OwnSentence) -> str | None:
        kind = stances.kind_of_support(sentence)
        if kind is None and stance_cues.READY.finds(sentence) and self._is_asked_whether_ready:
            return "words"
        if kind is None and stance_cues.GOOD_IDEA.finds(sentence) and self._speaks_of_it(sentence):
            return "approval"
        if (
            kind != "words"
            and stance_cues.SUPPORTS_SOMETHING.finds(sentence)
            and (
                self.form is PropositionForm.CALL
                or (self.form is PropositionForm.TEXT and stances.SUPPORTS_DOING.search(sentence.folded))
            )
            and self._speaks_of_it(sentence)
            and not stances.IN_A_PRODUCT.search(sentence.folded)
        ):
            return "words"
        return kind

    def _rule_elsewhere(self, sentence: OwnSentence, kind: str, towards: str) -> str:
        """Return the rule for support in answer to another mail than the proposal."""
        if self._is_of_one_patch(sentence):
            return f"{kind} of one patch"
        if stance_cues.HIGH_PRAISE.finds(sentence) and not self._is_of_another_patch(sentence, towards):
            return "approval by name"
        if self.form is PropositionForm.CALL:
            if stances.is_plus_one(sentence):
                return "agreement in a call"
            if kind == "words" and stances.WHOLE.search(sentence.folded):
                return "words in a call"
        return f"{kind} elsewhere"

    def _is_of_one_patch(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence is about one patch of a series and not the series."""
        answered = self.thread.answered(sentence)
        return (
            answered is not None
            and self.form is PropositionForm.PATCH
            and self.thread.mails[answered].is_one_of_many
            and not stances.WHOLE_SERIES.search(sentence.folded)
        )

    def _is_of_another_patch(self, sentence: OwnSentence, towards: str) -> bool:
        """Return whether the sentence may be about a patch that another person brought into the thread."""
        answered = self.thread.answered(sentence)
        if towards != "other" or answered is None:
            return False
        return self.form is not PropositionForm.PATCH or self.thread.mails[answered].has_diff

    def _speaks_of_it(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence shares a content word with the proposing mail."""
        words = {word for word in sentence.words if len(word) >= _MIN_CONTENT_LETTERS} - _COMMON
        proposal_words = set(self.proposal.mail.words.split())
        return not words.isdisjoint(proposal_words)

    def _rule(self, sentence: OwnSentence, kind: str, where: str, *, is_part: bool) -> str:
        if is_part or (kind in _PRAISE and self._is_of_one_patch(sentence)):
            return f"{kind} with a part"
        if kind == "words":
            return self._rule_of_words(sentence)
        if kind == "no objection":
            # A person who was asked for objections and has none consents. Otherwise it is weaker.
            return "words" if self.form in _ASKED or "longer" in sentence.words else "no objection"
        if kind == "approval":
            return self._rule_of_approval(sentence, where)
        if kind == "exclamation":
            asks = any(other.asks for other in self.thread.mail_of(sentence).sentences)
            return "exclamation" if where == "whole" and not asks else "exclamation with more"
        return self._rule_of_agreement(sentence, where)

    def _rule_of_words(self, sentence: OwnSentence) -> str:
        if self.form is not PropositionForm.TEXT or sentence.words.isdisjoint({"would", "i'd"}):
            return "words"
        # "I would support it" is support in answer to the proposal, and less than that elsewhere.
        return "words to what is put" if self._is_to_the_words(sentence) else "words with would"

    def _rule_of_approval(self, sentence: OwnSentence, where: str) -> str:
        if stances.REST.search(sentence.folded) and self.thread.mail_of(sentence).matches(stances.DEMANDS):
            return "approval of the rest"
        if stances.WHOLE.search(sentence.folded) or where != "inside":
            return "approval"
        if self._is_to_the_words(sentence):
            return "approval of what is put"
        return "approval in review" if self.form is PropositionForm.PATCH else "approval inside"

    def _rule_of_agreement(self, sentence: OwnSentence, where: str) -> str:
        is_to_the_words = self._is_to_the_words(sentence)
        if not stances.is_bare(sentence) and not (is_to_the_words and self._agrees_to_do(sentence)):
            return "agreement with more"
        if self._names_another(sentence):
            return "agreement with another"
        if where not in {"whole", "opening"}:
            # A writer who agrees repeatedly goes through a list, point by point.
            agreed = sum(map(stance_cues.AGREES.finds, self.thread.mail_of(sentence).sentences))
            return "agreement with what is put" if is_to_the_words and agreed == 1 else "agreement with more"
        return self._rule_of_bare_agreement(sentence)

    def _rule_of_bare_agreement(self, sentence: OwnSentence) -> str:
        # Under lines of a patch "Agreed." is about these lines, unless the mail says nothing else.
        if self.form is PropositionForm.PATCH and not stances.ACK.search(sentence.folded):
            alone = len(self.thread.mail_of(sentence).sentences) == 1 and sentence.block < 0
            return "agreement" if alone else "agreement with a part"
        return "agreement" if self._is_clear(sentence) else "agreement in a crowd"

    def _is_to_the_words(self, sentence: OwnSentence) -> bool:
        return self.form is PropositionForm.TEXT and (
            stances.opens_the_answer(self.thread, sentence)
            or stances.answers_the_proposal(self.thread, self.proposal, sentence)
        )

    def _agrees_to_do(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence agrees to the act: "I agree that we should drop it"."""
        return (
            bool(stances.AGREES_TO_DO.search(sentence.folded))
            and "prefer" not in sentence.folded
            and self._speaks_of_it(sentence)
        )

    @cached_property
    def _is_asked_whether_ready(self) -> bool:
        return self.form is PropositionForm.CALL and any(
            "ready" in sentence.words for sentence in self.proposal.mail.sentences
        )

    def _names_another(self, sentence: OwnSentence) -> bool:
        """Return whether the sentence agrees with a person other than the proposer."""
        named = stances.AGREES_WITH.search(sentence.text)
        mail = self.proposal.mail.mail
        return named is not None and word_key(named[1]) not in word_key(f"{mail.name} {mail.address}").split()

    def _is_clear(self, sentence: OwnSentence) -> bool:
        """Return whether it is clear what the sentence answers. A bare "+1" in a long thread is not."""
        return (
            sentence.block >= 0
            or len(self.thread.mails) <= _SMALL_THREAD
            or self.form is PropositionForm.CALL
        )

    def _stances_answered(self, sentence: OwnSentence) -> set[PositionStance]:
        """Return the stated stances of the mail that the sentence answers."""
        answered = self.thread.answered(sentence)
        claims = () if answered is None else self.by_mail.get(answered, ())
        return {claim.stance for claim in claims if claim.rule in SAID_RULES}

    def _stances_of_named(self, sentence: OwnSentence) -> set[PositionStance]:
        """Return the last stated stance of the person named in the sentence, if the name is unique."""
        named = stances.AGREES_WITH.search(sentence.text)
        before = self.thread.mails[: sentence.mail]
        key = word_key(named[1]) if named else ""
        people = {mail.person for mail in before if key in word_key(mail.mail.name).split()}
        if len(people) != 1:
            return set()
        claims = [
            claim
            for mail in before
            if mail.person in people
            for claim in self.by_mail.get(mail.number, ())
            if claim.rule in SAID_RULES
        ]
        return {claims[-1].stance} if claims else set()

    def _seconds(self, sentence: OwnSentence, cue: re.Match[str] | None) -> bool:
        """Return whether the sentence praises a mail that supports the proposal and says nothing else."""
        answered = self.thread.answered(sentence)
        if (
            answered is None
            or self._stances_answered(sentence) != {_SUPPORT}
            or stances.is_partial(sentence, cue)
        ):
            return False
        claimed = {id(claim.sentence) for claim in self.by_mail.get(answered, ())}
        return all(
            id(other) in claimed or cues.THANKS.finds(other)
            for other in self.thread.mails[answered].sentences
        )

    def _chain(self, sentence: OwnSentence) -> tuple[PositionStance, str] | None:
        """Return the stance that a "+1" takes over from the mail that it answers."""
        answered = self.thread.answered(sentence)
        if answered is None:
            return None
        theirs = self._stances_answered(sentence)
        if len(theirs) == 1:
            return theirs.pop(), "chain"
        if self.form is PropositionForm.TEXT and any(map(settles_it, self.thread.mails[answered].sentences)):
            return _SUPPORT, "chain"
        in_call = self.form is PropositionForm.CALL and not any(
            stance_cues.DOUBTS.finds(other) or stance_cues.OPPOSES.finds(other)
            for other in self.thread.mails[answered].sentences
        )
        return _SUPPORT, ("agreement in a call" if in_call else "agreement elsewhere")
