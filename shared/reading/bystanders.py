"""Finds people who take no side, so that their mails do not change how a thread ended.

Anybody can send an empty mail, a question or another proposal. A thread that ends by the words of its
participants ends so, whoever else writes in it.
"""

from collections.abc import Iterable
from dataclasses import replace

from shared.models.values import ConsensusBasis, ThreadReading, Tier
from shared.reading.claims import StanceClaim
from shared.reading.cues import NEGATION
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import OwnSentence
from shared.reading.proposal import Proposal
from shared.reading.stance_cues import DOUBTS, OPPOSES
from shared.reading.votes import is_legend


def bystanders(
    thread: LinkedThread, proposal: Proposal, claims: Iterable[StanceClaim], objected: Iterable[OwnSentence]
) -> set[str]:
    """Return the people who opened and proposed nothing, and have no role, side or doubt."""
    taking_part = {thread.root.person, *proposal.owners}
    taking_part |= {mail.person for mail in thread.mails if thread.people.role(mail.number) is not None}
    taking_part |= {claim.person for claim in claims}
    taking_part |= {thread.mail_of(sentence).person for sentence in objected if NEGATION.finds(sentence)}
    taking_part |= {mail.person for mail in thread.mails if any(map(_doubts, mail.sentences))}
    return {mail.person for mail in thread.mails} - taking_part


def _doubts(sentence: OwnSentence) -> bool:
    return (DOUBTS.finds(sentence) or OPPOSES.finds(sentence)) and not is_legend(sentence)


def with_outcome_of(core: ThreadReading, whole: ThreadReading) -> ThreadReading:
    """Return the reading of the whole thread with the outcome that it has without bystanders.

    Only an outcome that is counted, or that an authority states, holds without them.
    """
    outcome = core.outcome
    is_said = outcome.tier is Tier.SAID and outcome.basis is not ConsensusBasis.UNKNOWN
    if whole.outcome.tier is Tier.SAID or not is_said:
        return whole
    return replace(
        whole,
        outcome=outcome,
        has_consensus=core.has_consensus,
        consensus_type=core.consensus_type,
        basis=core.basis,
        headline=replace(whole.headline, came_out=core.headline.came_out),
        open_call=None,
    )
