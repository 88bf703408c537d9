"""What one sentence does, read without its thread: which kind of support it is, and of how much."""

import re

from shared.domain.consensus.cues import ACCEPTS
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.stance_cues import AGREES, APPROVES, EXCLAIMS, NO_OBJECTION, SUPPORTS

_BARE_WORDS = 6
_PARTIAL = re.compile(
    r"\b(?:(?:your|his|her|their|good|great|fair|valid|that|this) points?|catch|question|spot|remarks?|"
    r"comments?|observation|reasoning|argument|assessment|sentiment|story|news|luck|nit|typo|"
    r"(?<!n't )(?<!not )find|"
    r"explanation|example|"
    r"analysis|summary|report|reminder)\b|\blooks? \w+ (?:in|on) (?:the|my|a)\b"
)
_WHOLE = re.compile(
    r"\b(?:patch(?:es|set)?|series|proposals?|ideas?|plan|draft|document|charter|approach|feature|changes?|"
    r"adopt\w*|publi\w*|direction|release|merg\w+|fix|version|cleanup)\b"
)
_MY_REMARKS = re.compile(r"\b(?:my|no (?:further|more|other)) (?:\w+ )?(?:comments?|remarks?|nits)\b")
_PROPOSED = re.compile(
    r"\b(?:proposals?|ideas?|suggestions?|plan|approach|hack|patch(?:es)?|draft|text|charter|adopt\w*|"
    r"requirements?)\b"
)
_GOOD_IDEA = re.compile(
    r"(?:^\W{0,3}|\b(?:sounds|seems) like an? )(?:very |really )?(?:good|great|excellent|brilliant) (?:idea|"
    r"plan|proposal|"
    r"suggestion)\b(?! to\b)"
)
_FIRST_PERSON = frozenset({"i", "i'm", "i'd", "we", "my", "me"})
_PLUS_ONE = re.compile(r"\+1 (?:from|for|on)\b|\bi(?:'m| am) (?:a )?\+1\b")
_ALONE = re.compile(
    r"(?:\+ ?1|agreed?|concur|seconded|me too|same here)(?: (?:from|for) (?:me|us|my side))?"
    r"(?: ?[(\[](?:non-? ?)?binding[)\]])?(?:[,;:!.(-]| -)"
)
_TO_THE_WHOLE = re.compile(
    r"\+ ?1 (?:for|to|on) (?:this|that|it|adopt\w*|merg\w*|publi\w*|"
    r"(?:the|this|your) (?:\w+ )?(?:proposal|idea|plan|patch|series|change|draft|document|approach))\b"
)
_ACK = re.compile(r"\+ ?1|^\W{0,3}r\+|\back|\bseconded\b|\bme too\b|\U0001f44d")
_WHEN = re.compile(
    r"\b(?:once|until|if|unless|as soon as)\b|\b(?:when|after|before|while) (?:\w+ ){0,3}"
    r"(?:i|we|you|it|they|somebody|someone|others)\b"
)
_TRIAL = re.compile(
    r"\blocally\b|\bfor (?:a |some |my )?(?:tests?|testing|review)\b|"
    r"\b(?:tests?|build|it|compil\w+|boot) (?:\w+ )?(?:fails?|failed|failing|broke|breaks|crash\w*)\b|"
    r"\b(?:to|and|then|will) (?:test|try|see if|check whether)\b"
)
"""Who takes a patch to try it has not accepted it."""
_UNTIL_THEN = re.compile(
    r"\b(?:when|once|if|unless|until|provided|assuming|as soon as|"
    r"after (?:\w+ ){0,3}(?:i|we|you|it|they|he|she))\b"
)
"""What follows "I'll queue it" may put it off: nothing is taken yet."""
_TROUBLE = re.compile(
    r"\b(?:revert\w*|conflicts?|crash\w*|same|the other|else|instead|wrong|back|out of|fuzz|cleanly|twice|"
    r"fine here|something|have a look|"
    r"(?:applied|queued|merged|pushed|committed|pulled)(?: \w+){0,2} by (?!hand\b)\w+)\b|"
    r"^\W{0,4}(?:applied|queued|merged|pushed|committed|pulled) "
    r"(?!(?:to|in|into|as|for|this|it|them|both|all|thanks|now|with|the|your|on|and|patch|patches|series|v\d|just|up|by|here|locally|manually|these|that)\b)[a-z]"
)
_WHOLE_SERIES = re.compile(
    r"\b(?:series|patchset|patches|both|all|everything|whole|overall|these|they|version|round|iteration|"
    r"reroll|"
    r"v\d{1,2})\b"
)
_REST = re.compile(r"\b(?:the rest|everything else|otherwise|other than|apart from|aside from|besides)\b")


def kind_of_support(sentence: OwnSentence) -> str | None:
    if SUPPORTS.finds(sentence):
        return "words"
    if APPROVES.finds(sentence):
        return "approval"
    if AGREES.finds(sentence):
        return "agreement"
    if NO_OBJECTION.finds(sentence):
        return "no objection"
    return "exclamation" if EXCLAIMS.finds(sentence) else None


def cue_of(sentence: OwnSentence) -> re.Match[str] | None:
    """The words that count: what stands in another clause says nothing of them."""
    return SUPPORTS.search(sentence) or APPROVES.search(sentence)


def is_partial(sentence: OwnSentence, cue: re.Match[str] | None) -> bool:
    """It praises a remark, a find, a story: a part, and not the work."""
    clause = sentence.folded
    if cue is not None:
        before = max(clause.rfind(mark, 0, cue.end()) for mark in ",;!.")
        clause = clause[max(before, cue.start()) :]
    return bool(_PARTIAL.search(clause)) and not _WHOLE.search(clause) and not _MY_REMARKS.search(clause)


def names_the_whole(sentence: OwnSentence) -> bool:
    return bool(_WHOLE.search(sentence.folded))


def names_the_series(sentence: OwnSentence) -> bool:
    """It speaks of more than the one patch that it answers."""
    return bool(_WHOLE_SERIES.search(sentence.folded))


def names_a_proposal(sentence: OwnSentence) -> bool:
    """The words themselves show that something was proposed, and that the writer judges it."""
    return bool(_PROPOSED.search(sentence.folded)) and not _FIRST_PERSON.isdisjoint(sentence.words)


def is_good_idea(sentence: OwnSentence) -> bool:
    """Somebody must have had one: "Good idea."."""
    return bool(_GOOD_IDEA.search(sentence.folded))


def is_of_the_rest(sentence: OwnSentence) -> bool:
    return bool(_REST.search(sentence.folded))


def is_plus_one(sentence: OwnSentence) -> bool:
    return "+1" in sentence.folded and bool(_PLUS_ONE.search(sentence.folded))


def is_ack(sentence: OwnSentence) -> bool:
    """Words such as "+1" or "Seconded" are of the whole; "I agree" may be with a line of it."""
    return bool(_ACK.search(sentence.folded))


def is_bare(sentence: OwnSentence) -> bool:
    """An agreement that says nothing but that, or says it first: "I agree, thanks", "+1: it saves time"."""
    if len(re.findall(r"\w+", sentence.text)) <= _BARE_WORDS:
        return True
    return bool(_ALONE.search(sentence.folded[:60]) or _TO_THE_WHOLE.search(sentence.folded[:60]))


def accepts(sentence: OwnSentence) -> bool:
    """Words of acceptance, and not of what happened when somebody tried."""
    found = ACCEPTS.search(sentence)
    if found is not None and _TRIAL.search(sentence.folded):
        return False
    if found is None or _WHEN.search(sentence.folded[: found.end()]):
        return False
    return not _UNTIL_THEN.search(sentence.folded, found.end())


def tells_of_trouble(sentence: OwnSentence) -> bool:
    """Who took something else, or tells how it went or who took it, has not taken this."""
    return bool(_TROUBLE.search(sentence.folded))


def shows_that_something_is_put(sentence: OwnSentence) -> bool:
    """A vote, or support in the first person: so plain that something must have been put."""
    if is_plus_one(sentence):
        return True
    return SUPPORTS.finds(sentence) and not _FIRST_PERSON.isdisjoint(sentence.words)
