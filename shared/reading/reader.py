"""Reads a thread without a language model: states little and only what is sure, and quotes the rest.

The order is structure first (people, links, answered mails), then wording, then who may decide.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shared.models.values import (
    ConsensusBasis,
    Decision,
    Fate,
    Genre,
    LatestRemark,
    Objection,
    OutcomeKind,
    PositionStance,
    Proposition,
    PropositionForm,
    SourceProfile,
    Tally,
    ThreadOutcome,
    ThreadReading,
    Tier,
    Version,
)
from shared.reading import headlines
from shared.reading.bystanders import bystanders, with_outcome_of
from shared.reading.claims import read_claims
from shared.reading.linked_thread import LinkedThread, display_name
from shared.reading.mails import ENGLISH, OwnSentence, ThreadMail, is_readable, language_of, main_language
from shared.reading.outcome import read_verdict
from shared.reading.positions import (
    consensus_type,
    fate_of,
    read_positions,
    withdrawal_of,
    withdrawn_sentences,
)
from shared.reading.proposal import find_proposal, has_proposal, read_genre, result_subject
from shared.reading.rulings import read_settlements
from shared.reading.sentence_scores import Head, SentenceScores
from shared.reading.supplied import without_supplied
from shared.reading.votes import count_votes, read_ballots

_DECIDABLE = frozenset({Genre.PATCH, Genre.CALL, Genre.PROPOSAL})
_NOT_AGREED = frozenset({OutcomeKind.REJECTED, OutcomeKind.CONTESTED})
_ENDED_WELL = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.ANSWERED, OutcomeKind.INFORMATIONAL})
_SETTLED = frozenset({Fate.ANSWERED, Fate.TAKEN, Fate.WITHDRAWN})
_BY_PROPOSER = frozenset({"taken over", "remarks taken over", "will be edited", "new version"})
"""Endings by the word of a person who writes the text."""
_ENOUGH_VOICES = 2
_MOST_TALLIES = 3
_MAIN_PARTICIPANTS = 5
_SURE, _UNSURE = 0.9, 0.4


def read_thread(mails: Sequence[ThreadMail], profile: SourceProfile | None = None) -> ThreadReading:
    """Return what came of a thread. `mails` are in the thread's order, and the first one is its root."""
    if not mails:
        raise ValueError("a thread has at least one mail")
    profile = profile or SourceProfile()
    mails = without_supplied(mails)
    must_pass = profile.requires_authentication
    languages = [language_of(mail.text) for mail in mails]
    lang = main_language(mails, languages)
    # The reader judges only mail that it can read. Other mail stays in place, so that replies keep their
    # parent. A short "+1" shows no language, but under unread mail it answers something unknown.
    readable = [
        mail
        if lang == ENGLISH and is_readable(mail.text, language) and (mail.passed or not must_pass)
        else replace(mail, text="", quotes=())
        for mail, language in zip(mails, languages, strict=True)
    ]
    reader = _ThreadReader(LinkedThread(readable, profile), lang)
    reading = reader.read()
    taking_part = reader.mails_of_participants() if reader.may_be_decided else readable
    if len(taking_part) == len(readable):
        return reading
    return with_outcome_of(_ThreadReader(LinkedThread(taking_part, profile), lang).read(), reading)


class _ThreadReader:
    def __init__(self, thread: LinkedThread, lang: str) -> None:
        self._thread = thread
        self._lang = lang
        self._proposal = find_proposal(thread)
        self._genre = read_genre(thread, self._proposal)
        ballots = read_ballots(thread, self._proposal)
        self._claims = read_claims(thread, self._proposal, ballots)
        self._positions = read_positions(thread, self._proposal, self._claims)
        self._votes = count_votes(ballots)
        self._settlements = read_settlements(thread, self._proposal)
        self._verdict = read_verdict(
            thread, self._proposal, self._genre, self._settlements, self._positions, self._votes
        )

    @property
    def may_be_decided(self) -> bool:
        """Whether no outcome is stated, though several support it or a role holder settles something."""
        if self._verdict.sure:
            return False
        voices = self._said(PositionStance.SUPPORT)
        return len(voices) >= _ENOUGH_VOICES or bool(self._by_authority())

    def mails_of_participants(self) -> list[ThreadMail]:
        """Return the mails without those of bystanders."""
        scores = SentenceScores(self._thread, self._proposal, self._genre.kind)
        objected = scores.found(Head.OBJECTION)
        without = bystanders(self._thread, self._proposal, self._claims, objected)
        return [mail.mail for mail in self._thread.mails if mail.person not in without]

    def read(self) -> ThreadReading:
        thread, proposal = self._thread, self._proposal
        scores = SentenceScores(thread, proposal, self._genre.kind)
        claimed = [word.sentence for word in self._settlements.claimed]
        decided = scores.found(Head.DECISION, [*self._by_authority(), *claimed])
        withdrawn = withdrawn_sentences(thread, self._claims, self._positions)
        firm = [*self._said(PositionStance.OPPOSE), *withdrawn]
        objected = scores.found(Head.OBJECTION, firm, without=self._mails_without_objection())
        still_open = [
            sentence for sentence in scores.found(Head.OPEN_ISSUE) if not self._is_decided_there(sentence)
        ]
        fates = [
            Fate.WITHDRAWN if any(sentence is other for other in withdrawn) else self._fate(sentence)
            for sentence in objected
        ]
        objections = [
            self._objection(sentence, fate if any(sentence is other for other in firm) else Fate.UNCLEAR)
            for sentence, fate in zip(objected, fates, strict=True)
        ]
        open_call = headlines.read_open_call(thread, proposal, objections) if self._may_be_open() else None
        outcome = self._outcome()
        has_consensus = self._has_consensus(fates)
        stances = [position.stance for position in self._positions if position.tier is Tier.SAID]
        return ThreadReading(
            lang=self._lang,
            genre=self._genre,
            proposition=self._proposition(),
            outcome=outcome,
            positions=tuple(self._positions),
            objections=tuple(objections),
            decisions=tuple(self._decision(sentence) for sentence in decided),
            open_issues=tuple(map(thread.cite, still_open)),
            key_points=tuple(
                map(thread.cite, scores.points([*self._said(), *decided, *objected, *still_open]))
            ),
            headline=headlines.summary_lines(proposal, outcome.sentence, objections, still_open, open_call),
            has_consensus=has_consensus,
            consensus_type=consensus_type(stances, has_consensus=has_consensus),
            basis=self._verdict.basis if self._verdict.sure else ConsensusBasis.UNKNOWN,
            open_call=open_call,
            tallies=tuple(self._tallies()),
            latest=tuple(self._latest(scores)),
            result_of=result_subject(thread),
        )

    def _said(self, *stances: PositionStance) -> list[OwnSentence]:
        """Return the sentences of the stated positions, with these stances if any are given."""
        places = {
            position.citation.place
            for position in self._positions
            if position.tier is Tier.SAID and (not stances or position.stance in stances)
        }
        return [claim.sentence for claim in self._claims if self._place(claim.sentence) in places]

    def _place(self, sentence: OwnSentence) -> tuple[str, int]:
        return self._thread.mail_of(sentence).mail.message_id, sentence.start

    def _is_decided_there(self, sentence: OwnSentence) -> bool:
        """Return whether its writer answered it in the deciding mail, or was content later."""
        evidence = self._verdict.evidence
        if not self._verdict.sure or evidence is None:
            return False
        if self._verdict.kind is OutcomeKind.ANSWERED and sentence.mail < evidence.mail:
            return self._thread.mail_of(sentence).person == self._thread.mail_of(evidence).person
        return evidence.mail == sentence.mail

    def _may_be_open(self) -> bool:
        """Return whether the thread surely is a call without an outcome. A contested call goes on."""
        is_call = self._genre.kind is Genre.CALL and self._genre.tier is Tier.SAID
        return (
            is_call
            and self._verdict.rule != headlines.CLOSING_STATEMENT
            and (not self._verdict.sure or self._verdict.kind is OutcomeKind.CONTESTED)
        )

    def _is_by_authority(self) -> bool:
        settled = self._verdict.settled_by
        return settled is not None and settled.role is not None

    def _by_authority(self) -> list[OwnSentence]:
        found = self._settlements
        settled = [
            *found.undecided,
            *found.unready,
            *found.chosen,
            *found.decided,
            *found.ruled,
            *found.accepted,
            *found.rejected,
            *found.passed,
            *found.cancelled,
        ]
        sentences = [word.sentence for word in settled]
        # The evidence of the outcome comes first, because only one sentence of each mail is shown.
        return sorted(sentences, key=lambda sentence: sentence is not self._verdict.evidence)

    def _mails_without_objection(self) -> set[int]:
        """Return the mails without objections: all of a thread that ended well, else mails of support."""
        if self._verdict.sure and self._verdict.kind in _ENDED_WELL:
            return {mail.number for mail in self._thread.mails}
        return {sentence.mail for sentence in self._said(PositionStance.SUPPORT)}

    def _objection(self, sentence: OwnSentence, fate: Fate) -> Objection:
        withdrawal = withdrawal_of(self._thread, sentence) if fate is Fate.WITHDRAWN else None
        return Objection(
            person=self._thread.mail_of(sentence).mail.address.lower(),
            citation=self._thread.cite(sentence),
            fate=fate,
            withdrawal=self._thread.cite(withdrawal) if withdrawal else None,
        )

    def _fate(self, sentence: OwnSentence) -> Fate:
        """Return the fate. If the proposal was withdrawn or rejected, nothing is outstanding."""
        if self._verdict.sure and self._verdict.rule == "withdrawn":
            return Fate.TAKEN
        fate = fate_of(self._thread, self._proposal, sentence)
        over = self._verdict.sure and self._verdict.kind is OutcomeKind.REJECTED
        return Fate.UNCLEAR if over and fate is Fate.OUTSTANDING else fate

    def _tallies(self) -> list[Tally]:
        """Return the last counts by people with a role, in their own words."""
        found = self._settlements.tallies
        last = found[-1].sentence.mail if found else None
        return [
            Tally(by=headlines.authority_by(self._thread, word), citation=self._thread.cite(word.sentence))
            for word in found
            if word.sentence.mail == last
        ][:_MOST_TALLIES]

    def _latest(self, scores: SentenceScores) -> list[LatestRemark]:
        """Return the last words of the most active writers, in the order of time."""
        wrote = Counter(mail.person for mail in self._thread.mails if mail.sentences and not mail.is_machine)
        last = {mail.person: mail for mail in self._thread.mails if mail.person in wrote and mail.sentences}
        main = [last[person] for person, _ in wrote.most_common(_MAIN_PARTICIPANTS)]
        # The last speaker is shown, however little they wrote.
        ends = max(last.values(), key=lambda mail: mail.number, default=None)
        shown = main if ends is None or ends in main else [*main[: _MAIN_PARTICIPANTS - 1], ends]
        remarks = [(mail, scores.best_of(mail)) for mail in sorted(shown, key=lambda mail: mail.number)]
        return [
            LatestRemark(
                mail.mail.address.lower(),
                display_name(mail.mail.name, mail.mail.address),
                mail.mail.date,
                self._thread.cite(sentence),
            )
            for mail, sentence in remarks
            if sentence is not None
        ]

    def _decision(self, sentence: OwnSentence) -> Decision:
        # Of all words of a role holder, only the evidence of the outcome settles something.
        by_authority = self._verdict.sure and sentence is self._verdict.evidence and self._is_by_authority()
        return Decision(
            person=self._thread.mail_of(sentence).mail.address.lower(),
            citation=self._thread.cite(sentence),
            tier=Tier.SAID if by_authority else Tier.REMARK,
        )

    def _proposition(self) -> Proposition | None:
        proposal = self._proposal
        if not has_proposal(proposal):
            return None
        numbers = sorted(proposal.mails)
        return Proposition(
            message_id=proposal.mail.mail.message_id,
            form=proposal.form,
            proposer=proposal.mail.mail.address.lower(),
            words=self._thread.cite(proposal.words) if proposal.words else None,
            versions=tuple(
                Version(self._thread.mails[number].mail.message_id, self._thread.mails[number].version)
                for number in numbers
            ),
        )

    def _outcome(self) -> ThreadOutcome:
        verdict = self._verdict
        is_told = verdict.sure or verdict.rule == headlines.CLOSING_STATEMENT
        authority = headlines.authority_of(self._thread, verdict) if is_told else None
        votes = self._votes if self._proposal.form is PropositionForm.VOTE else None
        return ThreadOutcome(
            kind=verdict.kind,
            tier=Tier.SAID if verdict.sure else Tier.REMARK,
            confidence=_SURE if verdict.sure else _UNSURE,
            sentence=headlines.outcome_sentence(
                self._thread, self._proposal, verdict, self._positions, votes
            ),
            basis=verdict.basis if is_told else ConsensusBasis.UNKNOWN,
            evidence=(self._thread.cite(verdict.evidence),) if verdict.evidence else (),
            authority=authority,
            votes=votes,
            rule=verdict.rule,
            by=headlines.decided_by(self._thread, self._proposal, verdict) if verdict.sure else "",
        )

    def _has_consensus(self, fates: Sequence[Fate]) -> bool:
        """Return whether it is ruled, or settled or supported by two people without opposition."""
        # A role holder's declaration in a formal call is rough consensus, whoever stays against it.
        if self._verdict.sure and self._verdict.rule == "ruled":
            return True
        against = any(
            position.stance in {PositionStance.OPPOSE, PositionStance.MIXED} for position in self._positions
        )
        if against or (self._verdict.sure and self._verdict.kind in _NOT_AGREED):
            return False
        settled = self._verdict.sure and self._verdict.kind in {OutcomeKind.ACCEPTED, OutcomeKind.REVISED}
        voices = self._thread.voices(self._positions, PositionStance.SUPPORT)
        # A proposer who takes the remarks over into a new version converges with the supporters.
        if self._verdict.rule == "new version" and self._settlements.promised and voices:
            return True
        # The proposer's own promise settles nothing between people.
        if settled and (self._verdict.rule not in _BY_PROPOSER or voices):
            return True
        if self._genre.kind not in _DECIDABLE or voices < _ENOUGH_VOICES or voices * 2 < self._others():
            return False
        # Without a declaration, an unsettled remark against it leaves it open.
        return all(fate in _SETTLED for fate in fates)

    def _others(self) -> int:
        """Return how many people other than the proposers wrote. Two voices among ten are no agreement."""
        return len({mail.person for mail in self._thread.mails} - self._proposal.proposers)
