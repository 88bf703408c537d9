"""What a thread agreed on: stances, calls, proposals, decisions, open issues. Pure: text in, findings out."""

from shared.consensus.calls import consensus_calls
from shared.consensus.models import (
    CallKind,
    ConsensusCall,
    ConsensusMessage,
    ConsensusType,
    Counts,
    Evidence,
    MessageStance,
    Participant,
    Stance,
    Statement,
    ThreadConsensus,
)
from shared.consensus.sentences import Sentence, own_sentences
from shared.consensus.stance import message_stance, sentence_stance
from shared.consensus.thread import analyse_thread

__all__ = [
    "CallKind",
    "ConsensusCall",
    "ConsensusMessage",
    "ConsensusType",
    "Counts",
    "Evidence",
    "MessageStance",
    "Participant",
    "Sentence",
    "Stance",
    "Statement",
    "ThreadConsensus",
    "analyse_thread",
    "consensus_calls",
    "message_stance",
    "own_sentences",
    "sentence_stance",
]
