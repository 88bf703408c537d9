"""A summary as it is stored: text, claims, stances and counts, beside the citations that bear them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from shared.documents.summaries import SummaryClaim, SummaryStance
from shared.documents.threads import Thread
from shared.domain.consensus.models import ThreadConsensus
from shared.domain.summaries.html import render_html
from shared.domain.summaries.markdown import render_markdown
from shared.domain.summaries.models import ContextMessage, ThreadSummary


def summary_fields(made: ThreadSummary, thread: Thread, messages: Sequence[ContextMessage]) -> dict[str, Any]:
    """The fields of a thread's summary that come from what was made of it."""
    markdown = render_markdown(made)
    return {
        "title": made.title,
        "content_markdown": markdown,
        "content_html": render_html(markdown),
        "citations": made.citations,
        "claims": stored_claims(made),
        "stances": stored_stances(made.consensus, messages),
        "counts": asdict(made.consensus.counts),
        "generated_by": made.generated_by,
        "metadata": _metadata(thread, made),
    }


def stored_claims(made: ThreadSummary) -> list[SummaryClaim]:
    """The claims that are borne by a citation; each names its citations by their positions."""
    indexes = {(citation.chunk_id, citation.quote): index for index, citation in enumerate(made.citations)}
    return [
        SummaryClaim(
            text=claim.text,
            section=claim.section.value,
            speaker=claim.speaker,
            citations=list(
                dict.fromkeys(indexes[citation.chunk_id, citation.quote] for citation in claim.citations)
            ),
        )
        for claim in made.claims
        if claim.is_supported
    ]


def stored_stances(consensus: ThreadConsensus, messages: Sequence[ContextMessage]) -> list[SummaryStance]:
    by_key = {message.key: message for message in messages}
    counting = {person.message_key for person in consensus.participants}
    return [
        SummaryStance(
            message_key=stance.message_key,
            name=by_key[stance.message_key].sender_name,
            email=by_key[stance.message_key].sender_email,
            stance=stance.stance.value,
            quote=stance.evidence.quote if stance.evidence else None,
            start=stance.evidence.start if stance.evidence else None,
            end=stance.evidence.end if stance.evidence else None,
            counts_now=stance.message_key in counting,
        )
        for stance in consensus.stances
    ]


def _metadata(thread: Thread, made: ThreadSummary) -> dict[str, Any]:
    consensus, stored = made.consensus, thread.to_cosmos()
    return {
        "has_consensus": consensus.has_consensus,
        "consensus_type": consensus.consensus_type.value if consensus.consensus_type else None,
        "reason": consensus.reason,
        "participants": stored["participants"],
        "first_message_date": stored["first_message_date"],
        "last_message_date": stored["last_message_date"],
        "draft_mentions": thread.draft_mentions,
        "source": thread.source,
        "notes": list(made.notes),
        "rejected_claims": len(made.rejected),
        "tokens_prompt": made.tokens.prompt,
        "tokens_completion": made.tokens.completion,
    }
