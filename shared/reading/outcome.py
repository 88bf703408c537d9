"""How a thread ended, by its kind, and whether that is sure. Other modules read patches and questions."""

import re
from collections.abc import Sequence

from shared.models.values import (
    ConsensusBasis,
    Genre,
    OutcomeKind,
    Position,
    PositionStance,
    Preset,
    PropositionForm,
    ReadGenre,
    Tier,
    VoteCount,
)
from shared.reading import endings
from shared.reading.cues import CLOSES, GOES_ON, HAPPY, SENDS_BACK, TALLY, WANTS_NEW_VERSION, Cue
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.proposal import Proposal, has_proposal
from shared.reading.rulings import DECLARED, EndingWord, Settlements
from shared.reading.stance_cues import DOUBTS, OPPOSES

_ENOUGH_VOTES = 3
"""The number of +1 that a vote needs without a result mail, as is the custom at Apache."""
_ENOUGH_VOICES = 2
_SHORT_THREAD = 4
_SHORT_REVIEW = 12
_EDITED = re.compile(
    r"\b(?:will|'ll|shall|going to|'ve|have|has|i|we) (?:\w+ ){0,2}(?:edit|"
    r"incorporate|update|fix|correct|change|clarify|reword|rephrase|rewrite|add|include|address|remove|"
    r"drop|make|fixed|changed|updated|added|incorporated|corrected|clarified|reworded|removed|addressed)\b|"
    r"\b(?:editor'?s|local|working) (?:copy|version)\b|\b(?:next|new|updated) (?:version|revision|draft)\b|"
    r"^\W{0,4}(?:\w+,? ){0,2}(?:done|fixed|will do|will fix)\b"
)
# Something is to be changed. Without such words, a promise answers a report and accepts nothing.
_WANTS = Cue(
    "should|must|need|needs|please|suggest|instead|typo|replace|change|missing|rather|better",
    r"\b(?:should|must|needs? to|please (?:add|change|fix|"
    r"clarify|remove|replace|consider)|suggest\w*|instead|typo|replace|to change|missing|rather|better)\b",
)
_ROLE = r"(?:(?:co-?)?chairs?|shepherd|editor|maintainer|release manager|area director)"
_IN_ROLE = re.compile(
    rf"\b(?:as (?:the |your )?(?:\w+ )?{_ROLE}|hereby|(?:i|we|chairs) declare|is declared|"
    rf"for the (?:\w+ )?chairs|(?:chair )?hat on)\b|"
    r"\b(?:i|we)(?: hereby)? (?:accept|reject|approve|decline) (?:this|the|pep|your|it)\b|\b(?:i'm|i am|"
    r"we're|we are) (?:hereby |now |therefore |going to |not going to ){0,2}(?:accept|reject|approv|declin|"
    r"adopt|drop|remov|deprecat|add|merg)\w* (?:this|the|it|pep|your|(?:\w+ )?\d)|\b(?:i|we|council|board|"
    r"committee|chairs|delegate|team)(?: have|'ve| has) (?:now |also |just )?(?:decided|accepted|rejected|"
    r"approved|resolved)\b|\b(?:proposal|pep|rfc|dep|request)(?: \d+)? (?:is|has been|was) (?:hereby |now )?"
    rf"(?:accepted|approved|rejected|declined)\b|^\W{{0,4}}(?:[\w.'-]+,? ){{1,5}}\(?{_ROLE}\W{{0,4}}$"
)
"""A person who speaks in a role rules, even without a formal call."""
_BESIDES = re.compile(r"\b(?:also|too|as well|while at it)\b")
"""A promise of more than was asked says nothing about what was asked."""
_ENDS = re.compile(
    r"\b(?:call|wglc|poll)\b.{0,40}\b(?:closed|concluded|ended|completed?|over|finished)\b|\bconcludes the\b"
)
_SUPPORTED = re.compile(
    r"\b(?:with|strong|good|clear|broad|general|sufficient|enough|was|is) (?:\w+ )?support\b|"
    r"\ball in favou?r\b|\b(?:ready (?:for|to)|move[sd]? (?:on|forward)|request (?:the )?publication|"
    r"consensus|adopted|accepted)\b|\b(?:result|outcome|conclusion) (?:is|was) to (?:adopt|accept|publish)\b"
)
"""The outcome, in the mail that ends a call."""
_EXTENDS = re.compile(r"\b(?:extend(?:ed|ing)?|re-?open(?:ed|ing)?|(?:call|discussion) continues?)\b")
_ADOPTION = re.compile(r"\badopt")
_NAMES_A_CALL = re.compile(
    r"\b(?:last call|wglc|call for (?:wg )?adoption|adoption call|consensus call)\b|"
    r"\b(?:is|are|has been|have been|was) (?:now |hereby |therefore )?adopted\b"
)
"""A chair who rules in these words ends a formal call, even if the mail that opened it is missing."""


def read_verdict(
    thread: LinkedThread,
    proposal: Proposal,
    genre: ReadGenre,
    settlements: Settlements,
    positions: Sequence[Position],
    votes: VoteCount,
) -> endings.Ending:
    ending = endings.Evidence(
        thread=thread,
        proposal=proposal,
        genre=genre,
        settlements=settlements,
        said=[position for position in positions if position.tier is Tier.SAID],
        heard_against=any(
            position.stance in {PositionStance.OPPOSE, PositionStance.MIXED} for position in positions
        ),
        votes=votes,
    )
    if proposal.form is PropositionForm.VOTE:
        return _of_vote(ending)
    if genre.kind is Genre.PATCH:
        return endings.of_patch(ending)
    found = _of_words(ending)
    return found if found.sure and found.basis is not ConsensusBasis.COUNTED else _closing(ending, found)


def _of_words(ending: endings.Evidence) -> endings.Ending:
    genre, settlements = ending.genre, ending.settlements
    if settlements.done and not ending.heard_against:
        return endings.ended_by(
            OutcomeKind.ACCEPTED, settlements.done[-1], ConsensusBasis.UNKNOWN, "done unopposed", sure=True
        )
    if genre.kind in {Genre.CALL, Genre.PROPOSAL}:
        return _of_proposal(ending)
    if genre.kind in {Genre.QUESTION, Genre.REPORT}:
        return endings.of_asking(ending)
    return _of_other_genre(ending)


def _of_other_genre(ending: endings.Evidence) -> endings.Ending:
    genre = ending.genre
    if genre.kind is Genre.DISCUSSION:
        # The form shows no question, but its writer's relief does.
        asked = endings.of_asking(ending)
        if asked.rule == "solved":
            return asked
    sure = genre.kind is Genre.ANNOUNCEMENT and genre.tier is Tier.SAID
    return endings.unknown(OutcomeKind.INFORMATIONAL, "form", sure=sure)


def _of_vote(ending: endings.Evidence) -> endings.Ending:
    found, votes = ending.settlements, ending.votes
    if found.cancelled and (
        not found.passed or found.cancelled[-1].sentence.mail > found.passed[-1].sentence.mail
    ):
        return endings.ended_by(
            OutcomeKind.REJECTED, found.cancelled[-1], ConsensusBasis.CALLED, "vote cancelled", sure=True
        )
    if found.passed:
        return endings.ended_by(
            OutcomeKind.ACCEPTED, found.passed[-1], ConsensusBasis.CALLED, "vote passed", sure=True
        )
    in_favour = votes.binding_for + votes.other_for
    binding_known = ending.thread.preset is Preset.APACHE and any(
        holder.role == "binding" for holder in ending.thread.profile.roles
    )
    # If the source names the binding voters, no other vote blocks.
    against = votes.binding_against + (0 if binding_known else votes.other_against)
    if against:
        return endings.counted(OutcomeKind.CONTESTED, "vote with -1", sure=False)
    enough = votes.binding_for if binding_known else in_favour
    if enough >= _ENOUGH_VOTES or (in_favour > _ENOUGH_VOTES and not binding_known):
        return endings.counted(OutcomeKind.ACCEPTED, "enough votes")
    return endings.unknown(OutcomeKind.UNRESOLVED, "vote without enough votes")


def _closing(ending: endings.Evidence, found: endings.Ending) -> endings.Ending:
    """Show a role holder's closing words if their direction is unknown, because there is a ruling."""
    acts = ending.settlements
    statements = [*acts.ruled, *acts.declined, *acts.undecided, *acts.unready, *acts.chosen, *acts.decided]
    last = max(statements, key=lambda word: word.sentence.mail, default=None)
    if last is None or any(map(_EXTENDS.search, _folded(ending, last))):
        return found
    if not _is_formal(ending, last):
        return found
    mail = _mail_of(ending, last)
    own = [word.sentence for word in statements if word.sentence.mail == mail.number]
    plain = [sentence for sentence in own if not CLOSES.search(sentence.folded)]
    counts = [sentence for sentence in mail.sentences if TALLY.finds(sentence)]
    shown = [*plain, *counts, *mail.sentences[own[0].index + 1 : own[0].index + 2], own[0]][0]
    word = EndingWord(shown, "closing statement", last.role)
    return endings.ended_by(found.kind, word, ConsensusBasis.RULED, "closing statement", sure=False)


def _folded(ending: endings.Evidence, word: EndingWord) -> list[str]:
    return [sentence.folded for sentence in _mail_of(ending, word).sentences]


def _is_formal(ending: endings.Evidence, word: EndingWord) -> bool:
    """Return whether the words end a call, or their writer speaks in a role."""
    return (
        ending.proposal.form is PropositionForm.CALL
        # At 3GPP a chair marks each document as agreed or noted, without a call for each.
        or ending.thread.preset is Preset.THREEGPP
        or any(_IN_ROLE.search(text) or CLOSES.search(text) for text in _folded(ending, word))
    )


def _of_proposal(ending: endings.Evidence) -> endings.Ending:
    found = _by_ruling(ending) or _by_voices(ending) or endings.of_offered_text(ending) or _by_promise(ending)
    return found or _without_decision(ending)


def _by_ruling(ending: endings.Evidence) -> endings.Ending | None:
    """Return the outcome that a role holder or the proposer states."""
    found = ending.settlements
    if found.cancelled:
        return endings.ended_by(
            OutcomeKind.REJECTED, found.cancelled[-1], ConsensusBasis.CALLED, "closed", sure=False
        )
    if found.passed:
        return endings.ended_by(
            OutcomeKind.ACCEPTED, found.passed[-1], ConsensusBasis.CALLED, "closed", sure=True
        )
    refused = _by_refusal(ending)
    if refused is not None:
        return refused
    if found.ruled:
        # At 3GPP a chair marks each document as agreed or noted, without a call for each.
        formal = (
            ending.proposal.form is PropositionForm.CALL
            or ending.thread.preset is Preset.THREEGPP
            or (
                ending.thread.preset is Preset.IETF
                and any(_NAMES_A_CALL.search(word.sentence.folded) for word in found.ruled)
            )
            or _mail_of(ending, found.ruled[-1]).matches(_IN_ROLE)
        )
        # Declared rough consensus outweighs remarks against it. The mere end of a call does not.
        declared = [word for word in found.ruled if word.act == DECLARED]
        ruling = (declared or found.ruled)[-1]
        plain = bool(declared) or (
            not ending.heard_against
            and (not _ENDS.search(ruling.sentence.folded) or _ends_well(ending, ruling))
        )
        sure = formal and plain and not _sends_back(ending, ruling)
        kind = OutcomeKind.REVISED if _wants_changes(ending, ruling) else OutcomeKind.ACCEPTED
        return endings.ended_by(kind, ruling, ConsensusBasis.RULED, "ruled", sure=sure)
    if found.withdrawn:
        return endings.ended_by(
            OutcomeKind.REJECTED, found.withdrawn[-1], ConsensusBasis.UNKNOWN, "withdrawn", sure=True
        )
    return _by_chair(ending)


def _by_refusal(ending: endings.Evidence) -> endings.Ending | None:
    """Return a role holder's refusal: the group is against it, has no consensus, or the text must wait."""
    found = ending.settlements
    word = found.declined[-1] if found.declined else None
    if word is not None and not found.ruled_after(word) and _is_formal(ending, word):
        sure = not _mail_of(ending, word).has(GOES_ON)
        return endings.ended_by(OutcomeKind.REJECTED, word, ConsensusBasis.RULED, "turned down", sure=sure)
    for words, rule, goes_on in (
        (found.undecided, "no consensus", GOES_ON.pattern),
        (found.unready, "not ready", _EXTENDS.pattern),
    ):
        if not words or not _is_formal(ending, words[-1]):
            continue
        last = words[-1]
        # A mail that sees consensus on one point and none on another has to be read.
        ruled = any(
            word.sentence.mail >= last.sentence.mail and not CLOSES.search(word.sentence.folded)
            for word in found.ruled
        )
        if not ruled and not any(re.search(goes_on, text) for text in _folded(ending, last)):
            return endings.ended_by(OutcomeKind.REJECTED, last, ConsensusBasis.RULED, rule, sure=True)
    return None


def _by_chair(ending: endings.Evidence) -> endings.Ending | None:
    """Return another end by a role holder: an option is chosen, the text is passed on or postponed."""
    found = ending.settlements
    if found.chosen and _is_formal(ending, found.chosen[-1]):
        word = found.chosen[-1]
        sure = not _mail_of(ending, word).has(GOES_ON)
        return endings.ended_by(OutcomeKind.ACCEPTED, word, ConsensusBasis.RULED, "chosen", sure=sure)
    if found.advanced:
        word = found.advanced[-1]
        kind = OutcomeKind.REVISED if found.asks_for_changes else OutcomeKind.ACCEPTED
        sure = not _sends_back(ending, word) and not GOES_ON.finds(word.sentence)
        return endings.ended_by(kind, word, ConsensusBasis.RULED, "passed on", sure=sure)
    if found.put_off:
        word = found.put_off[-1]
        return endings.ended_by(OutcomeKind.UNRESOLVED, word, ConsensusBasis.RULED, "put off", sure=True)
    return None


def _ends_well(ending: endings.Evidence, ruling: EndingWord) -> bool:
    """Return whether the mail that closes a call also tells its result."""
    mail = _mail_of(ending, ruling)
    if any(word.sentence.mail == mail.number for word in ending.settlements.advanced):
        return True
    if _wants_changes(ending, ruling):
        return True
    return mail.matches(HAPPY) or mail.matches(_SUPPORTED)


def _wants_changes(ending: endings.Evidence, ruling: EndingWord) -> bool:
    """Return whether a last call ends with a new version to come. Adoption takes the text as it is."""
    proposal = ending.proposal
    if proposal.form is not PropositionForm.CALL or proposal.mail.matches(_ADOPTION):
        return False
    return _mail_of(ending, ruling).has(WANTS_NEW_VERSION)


def _sends_back(ending: endings.Evidence, ruling: EndingWord) -> bool:
    """Return whether the mail that closes a call says that the text must change or be called again."""
    return _mail_of(ending, ruling).has(SENDS_BACK)


def _mail_of(ending: endings.Evidence, word: EndingWord) -> LinkedMail:
    return ending.thread.mail_of(word.sentence)


def _by_voices(ending: endings.Evidence) -> endings.Ending | None:
    supporters = ending.count(PositionStance.SUPPORT)
    if supporters and ending.count(PositionStance.OPPOSE):
        return endings.counted(OutcomeKind.CONTESTED, "both sides")
    if ending.proposal.form is PropositionForm.CALL and ending.thread.preset is Preset.APACHE and supporters:
        return endings.counted(OutcomeKind.ACCEPTED, "seconded", sure=not ending.heard_against)
    return None


def _by_promise(ending: endings.Evidence) -> endings.Ending | None:
    found = ending.settlements
    if found.promised:
        sure = ending.genre.tier is Tier.SAID and not ending.heard_against and found.names_next_version
        return endings.ended_by(
            OutcomeKind.REVISED, found.promised[-1], ConsensusBasis.UNKNOWN, "taken over", sure=sure
        )
    if found.edited and not ending.heard_against:
        return _of_edited(ending, found.edited[-1])
    return None


def _without_decision(ending: endings.Evidence) -> endings.Ending:
    if ending.heard_against:
        return endings.unknown(OutcomeKind.CONTESTED, "no decision")
    if ending.count(PositionStance.SUPPORT) >= _ENOUGH_VOICES:
        return endings.counted(OutcomeKind.ACCEPTED, "all in favour", sure=_all_support(ending))
    return endings.unknown(OutcomeKind.UNRESOLVED, "no decision")


def _all_support(ending: endings.Evidence) -> bool:
    """Return whether all who spoke, except the proposers, are stated to support it."""
    supporters = {position.person for position in ending.said if position.stance is PositionStance.SUPPORT}
    return all(
        mail.mail.address.lower() in supporters or mail.person in supporters
        for mail in ending.thread.mails
        if mail.person not in ending.proposal.proposers and not mail.is_machine
    )


def _of_edited(ending: endings.Evidence, edited: EndingWord) -> endings.Ending:
    """Return an ending by the promise of a person who can do it, which settles a short exchange."""
    short = len(ending.thread.mails) <= _SHORT_THREAD
    direct = ending.thread.answered(edited.sentence) in ending.proposal.mails
    kind = OutcomeKind.ACCEPTED if short else OutcomeKind.REVISED
    wanted = has_proposal(ending.proposal) or ending.proposal.mail.has(_WANTS)
    sure = short and direct and wanted and not _BESIDES.search(edited.sentence.folded)
    sure = sure or (not short and _is_edited_in(ending, edited))
    # A promise in a formal call is no decision.
    sure = sure and ending.proposal.form is not PropositionForm.CALL
    # The same mail may name the decision, which shows more than the promise.
    named = [word for word in ending.settlements.claimed if word.sentence.mail == edited.sentence.mail]
    edited = named[-1] if named else edited
    return endings.ended_by(kind, edited, ConsensusBasis.UNKNOWN, "will be done", sure=sure)


def _is_edited_in(ending: endings.Evidence, edited: EndingWord) -> bool:
    """Return whether an author edits a text on a list about texts, without later questions or doubts."""
    thread = ending.thread
    if (
        thread.preset is not Preset.IETF
        or len(thread.mails) > _SHORT_REVIEW
        or not _EDITED.search(edited.sentence.folded)
    ):
        return False
    later = [sentence for mail in thread.mails[edited.sentence.mail + 1 :] for sentence in mail.sentences]
    same = thread.mail_of(edited.sentence).sentences[edited.sentence.index + 1 :]
    return not any(
        sentence.asks or DOUBTS.finds(sentence) or OPPOSES.finds(sentence) for sentence in (*same, *later)
    )
