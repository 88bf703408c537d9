"""Where a model's claim may stand. Agreement is not for one mail, or a model that obeys it, to announce."""

from dataclasses import replace

from shared.domain.consensus.models import CallKind, Stance, ThreadConsensus
from shared.domain.summaries.models import Claim, Section

_OUTCOMES = (CallKind.DECLARED, CallKind.DECLARED_AGAINST, CallKind.NO_CONSENSUS)


def move_to_allowed_section(claim: Claim, consensus: ThreadConsensus) -> Claim:
    """The claim, moved to the key points where none of the mails it cites was found to agree or decide."""
    allowed = _messages(claim.section, consensus)
    if allowed is None or any(citation.message_key in allowed for citation in claim.citations):
        return claim
    return replace(claim, section=Section.KEY_POINTS)


def _messages(section: Section, consensus: ThreadConsensus) -> set[str] | None:
    """The messages that can bear a claim of this section; None where any can."""
    ruled = {call.evidence.message_key for call in consensus.calls if call.kind in _OUTCOMES}
    decided = ruled | {statement.evidence.message_key for statement in consensus.decisions}
    if section is Section.DECISIONS:
        return decided
    if section is Section.AGREED:
        return decided | {s.message_key for s in consensus.stances if s.stance is Stance.SUPPORT}
    return None
