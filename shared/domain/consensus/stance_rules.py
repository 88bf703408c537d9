"""The rules by which a sentence can show a stance: which of them pages may state, and how sure they are."""

SAID_RULES = {
    "vote": 0.97,
    "trailer": 0.97,
    "ack": 0.9,
    "acceptance": 0.95,
    "taken": 0.9,
    "words": 0.92,
    "approval by name": 0.9,
    "approval": 0.9,
    "exclamation": 0.9,
    "agreement": 0.9,
    "chain": 0.9,
    "will do": 0.9,
    "words in a call": 0.9,
    "agreement in a call": 0.9,
    "objection": 0.9,
    "words to what is put": 0.9,
    "approval of what is put": 0.9,
    "agreement with what is put": 0.9,
    "plain answer": 0.9,
    "objection to what is put": 0.9,
    "objection in a call": 0.9,
    "words for the act": 0.9,
    "keeps what is": 0.9,
    "consent to what is put": 0.9,
}
"""Rules whose claims are said, with the confidence to show: .9 is the bound, more where more was measured
right (docs/reading.md has the counts). A claim by any other rule is a remark."""
ACTS = frozenset({"acceptance", "trailer", "vote"})
"""Rules by which somebody acts: an act outweighs remarks before it."""
