"""How a thread ended: a kind, what it stands on, and whether it may be said."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.consensus.cues import OPEN, SENDS_BACK, SOLVED, THANKS
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.reading import (
    ConsensusBasis,
    Genre,
    OutcomeKind,
    Position,
    PositionStance,
    PropositionForm,
    ReadGenre,
    Tier,
    VoteCount,
)
from shared.domain.consensus.rulings import EndingWord, Settlements
from shared.domain.consensus.stance_cues import DOUBTS
from shared.domain.consensus.thread_mail import Preset

_ENOUGH_VOTES = 3
"""Of +1 in a vote without a result mail: the custom of Apache, which others took over."""
_ENOUGH_VOICES = 2
_SHORT_THREAD = 4
_DECLARES = re.compile(r"\b(?:declare|(?:have|see|is) (?:\w+ ){0,2}consensus|adopted|approved)\b")


@dataclass(slots=True)
class Ending:
    """The kind with its reasons, before it is put in words."""

    kind: OutcomeKind
    basis: ConsensusBasis
    rule: str
    sure: bool = False
    settled_by: EndingWord | None = None
    evidence: OwnSentence | None = None


@dataclass(slots=True)
class _Evidence:
    thread: LinkedThread
    put: Put
    genre: ReadGenre
    settlements: Settlements
    said: list[Position]
    heard_against: bool
    """Anybody was heard against it, said or not."""
    votes: VoteCount

    def count(self, stance: PositionStance) -> int:
        return sum(position.stance is stance for position in self.said)

    @property
    def newer_version(self) -> bool:
        """A later version came after somebody else had spoken: what they said may be in it."""
        first = self.put.mail.version
        others = [mail.number for mail in self.thread.mails if mail.person not in self.put.proposers]
        return any(
            self.thread.mails[number].version > first and others and others[0] < number
            for number in self.put.mails
        )


def read_verdict(
    thread: LinkedThread,
    put: Put,
    genre: ReadGenre,
    settlements: Settlements,
    positions: Sequence[Position],
    votes: VoteCount,
) -> Ending:
    ending = _Evidence(
        thread=thread,
        put=put,
        genre=genre,
        settlements=settlements,
        said=[position for position in positions if position.tier is Tier.SAID],
        heard_against=any(
            position.stance in {PositionStance.OPPOSE, PositionStance.MIXED} for position in positions
        ),
        votes=votes,
    )
    if put.form is PropositionForm.VOTE:
        return _of_vote(ending)
    if genre.kind is Genre.PATCH:
        return _of_patch(ending)
    if genre.kind in {Genre.CALL, Genre.PROPOSAL}:
        return _of_proposal(ending)
    if genre.kind in {Genre.QUESTION, Genre.REPORT}:
        return _of_asking(ending)
    sure = genre.kind is Genre.ANNOUNCEMENT and genre.tier is Tier.SAID
    return _unknown(OutcomeKind.INFORMATIONAL, "form", sure=sure)


def _unknown(kind: OutcomeKind, rule: str, *, sure: bool = False) -> Ending:
    return Ending(kind, ConsensusBasis.UNKNOWN, rule, sure=sure)


def _counted(kind: OutcomeKind, rule: str, *, sure: bool = True) -> Ending:
    return Ending(kind, ConsensusBasis.COUNTED, rule, sure=sure)


def _by(kind: OutcomeKind, settlement: EndingWord, basis: ConsensusBasis, rule: str, *, sure: bool) -> Ending:
    return Ending(kind, basis, rule, sure=sure, settled_by=settlement, evidence=settlement.sentence)


def _of_vote(ending: _Evidence) -> Ending:
    found, votes = ending.settlements, ending.votes
    if found.cancelled and (
        not found.passed or found.cancelled[-1].sentence.mail > found.passed[-1].sentence.mail
    ):
        return _by(
            OutcomeKind.REJECTED, found.cancelled[-1], ConsensusBasis.CALLED, "vote cancelled", sure=True
        )
    if found.passed:
        return _by(OutcomeKind.ACCEPTED, found.passed[-1], ConsensusBasis.CALLED, "vote passed", sure=True)
    against = votes.binding_against + votes.other_against
    in_favour = votes.binding_for + votes.other_for
    if against:
        return _counted(OutcomeKind.CONTESTED, "vote with -1", sure=False)
    binding_known = ending.thread.preset is Preset.APACHE and any(
        holder.role == "binding" for holder in ending.thread.profile.roles
    )
    enough = votes.binding_for if binding_known else in_favour
    if enough >= _ENOUGH_VOTES or in_favour > _ENOUGH_VOTES:
        return _counted(OutcomeKind.ACCEPTED, "enough votes")
    return _unknown(OutcomeKind.UNRESOLVED, "vote without enough votes")


def _of_patch(ending: _Evidence) -> Ending:
    found = ending.settlements
    changed = bool(found.promised) or ending.newer_version
    kind = OutcomeKind.REVISED if changed else OutcomeKind.ACCEPTED
    if found.accepted:
        sure = ending.newer_version or found.names_next_version or not found.promised
        return _by(kind, found.accepted[-1], ConsensusBasis.RULED, "accepted by authority", sure=sure)
    if found.rejected:
        return _by(
            OutcomeKind.REJECTED,
            found.rejected[-1],
            ConsensusBasis.RULED,
            "rejected by authority",
            sure=False,
        )
    if found.withdrawn and len(ending.put.proposers) == 1:
        return _by(OutcomeKind.REJECTED, found.withdrawn[-1], ConsensusBasis.UNKNOWN, "withdrawn", sure=True)
    if found.taken:
        return _by(kind, found.taken[-1], ConsensusBasis.COUNTED, "taken", sure=not changed)
    if ending.newer_version:
        return _unknown(OutcomeKind.REVISED, "new version")
    return _unknown(OutcomeKind.UNRESOLVED, "no acceptance")


def _of_proposal(ending: _Evidence) -> Ending:
    return _by_ruling(ending) or _by_voices(ending) or _by_promise(ending) or _by_nothing(ending)


def _by_ruling(ending: _Evidence) -> Ending | None:
    """One who may decide, or who put it, says how it ends."""
    found = ending.settlements
    if found.cancelled:
        return _by(OutcomeKind.REJECTED, found.cancelled[-1], ConsensusBasis.CALLED, "closed", sure=False)
    if found.passed:
        return _by(OutcomeKind.ACCEPTED, found.passed[-1], ConsensusBasis.CALLED, "closed", sure=True)
    if found.ruled:
        # At 3GPP a chair marks each document agreed or noted, without a call for each.
        formal = ending.put.form is PropositionForm.CALL or ending.thread.preset is Preset.THREEGPP
        # Rough consensus stands over remarks against it where it is declared; the end of a call does not.
        declared = [word for word in found.ruled if _DECLARES.search(word.sentence.folded)]
        ruling = (declared or found.ruled)[-1]
        sure = formal and (bool(declared) or not ending.heard_against) and not _sends_back(ending, ruling)
        return _by(OutcomeKind.ACCEPTED, ruling, ConsensusBasis.RULED, "ruled", sure=sure)
    if found.withdrawn:
        return _by(OutcomeKind.REJECTED, found.withdrawn[-1], ConsensusBasis.UNKNOWN, "withdrawn", sure=True)
    return None


def _sends_back(ending: _Evidence, ruling: EndingWord) -> bool:
    """The call is closed, and the same mail says that the text must change or be called again."""
    return any(map(SENDS_BACK.finds, ending.thread.mail_of(ruling.sentence).sentences))


def _by_voices(ending: _Evidence) -> Ending | None:
    supporters = ending.count(PositionStance.SUPPORT)
    if supporters and ending.count(PositionStance.OPPOSE):
        return _counted(OutcomeKind.CONTESTED, "both sides")
    if ending.put.form is PropositionForm.CALL and ending.thread.preset is Preset.APACHE and supporters:
        return _counted(OutcomeKind.ACCEPTED, "seconded", sure=not ending.heard_against)
    return None


def _by_promise(ending: _Evidence) -> Ending | None:
    found = ending.settlements
    if found.promised:
        sure = ending.genre.tier is Tier.SAID and not ending.heard_against and found.names_next_version
        return _by(OutcomeKind.REVISED, found.promised[-1], ConsensusBasis.UNKNOWN, "taken over", sure=sure)
    if found.edited and not ending.heard_against:
        return _of_edited(ending, found.edited[-1])
    return None


def _by_nothing(ending: _Evidence) -> Ending:
    if ending.heard_against:
        return _unknown(OutcomeKind.CONTESTED, "no decision")
    if ending.count(PositionStance.SUPPORT) >= _ENOUGH_VOICES:
        return _counted(OutcomeKind.ACCEPTED, "all in favour", sure=False)
    return _unknown(OutcomeKind.UNRESOLVED, "no decision")


def _of_edited(ending: _Evidence, edited: EndingWord) -> Ending:
    """One who can do it says that they will: in a short exchange that settles it."""
    short = len(ending.thread.mails) <= _SHORT_THREAD
    direct = ending.thread.answered(edited.sentence) in ending.put.mails
    kind = OutcomeKind.ACCEPTED if short else OutcomeKind.REVISED
    return _by(kind, edited, ConsensusBasis.UNKNOWN, "will be done", sure=short and direct)


def _of_asking(ending: _Evidence) -> Ending:
    thread = ending.thread
    asker = thread.root.person
    others = [mail for mail in thread.mails if mail.person != asker]
    if not others:
        return _unknown(OutcomeKind.UNANSWERED, "no answer")
    later = [mail for mail in thread.mails[1:] if mail.person == asker]
    solved = [sentence for mail in later for sentence in mail.sentences if SOLVED.finds(sentence)]
    settled = solved[-1] if solved and not _asks_again(thread, later) else None
    # On lists about a text a report is a review: thanks for it settle nothing, the next version does.
    if settled is not None and thread.preset is not Preset.IETF:
        return Ending(OutcomeKind.ANSWERED, ConsensusBasis.UNKNOWN, "solved", sure=True, evidence=settled)
    told = any(map(_tells, others))
    # An asker who comes back without thanks is not content; one who does not come back most often is.
    if later and _is_thankful(later[-1]):
        return _unknown(OutcomeKind.ANSWERED, "thanked")
    sure = ending.genre.kind is Genre.QUESTION and ending.genre.tier is Tier.SAID and told
    return _unknown(OutcomeKind.ANSWERED, "told", sure=sure and not later)


def _is_thankful(mail: LinkedMail) -> bool:
    """Thanks, and nothing that is still wrong."""
    return any(map(THANKS.finds, mail.sentences)) and not any(
        one.asks or DOUBTS.finds(one) or OPEN.finds(one) for one in mail.sentences
    )


def _asks_again(thread: LinkedThread, later: list[LinkedMail]) -> bool:
    """The asker's last mail is near the end and asks: then the question is still open."""
    if not later:
        return False
    near_end = later[-1].number >= max(2, len(thread.mails) - 2)
    return near_end and any(sentence.asks for sentence in later[-1].sentences)


def _tells(mail: LinkedMail) -> bool:
    """More than a question back."""
    return sum(len(one.text) > 40 and not one.asks for one in mail.sentences) >= 2  # noqa: PLR2004
