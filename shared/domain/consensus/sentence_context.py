"""How a sentence stands in its thread: what it answers, where it is, and whether anything takes it back."""

import re

from shared.domain.consensus.cues import BUT_NEXT, CONDITION, CONTRAST, NEGATION, REPORTED, THANKS
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence, word_key
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.votes import is_legend

_LONG = 300
_FEW_SENTENCES = 3
_OTHERS_WORK = re.compile(r"\b([A-Z]\w+)'s (?:\w+ )?(?:work|series|topic|patch(?:es)?|branch)\b")
_PULL = re.compile(r"\b(?:pull|PULL)\b")
_NO_NEGATION = re.compile(
    r"\b(?:don't|do not) have anything against\b|\b(?:don't|do not|won't|will not|wouldn't|"
    r"would not) (?:\w+ )?object\b|"
    r"\bno (?:objections?|problems?|issues?|concerns?)\b|\b(?:no longer|don't|do not) have any\b|\bno "
    r"doubt\b|\bwhy not\b|\b(?:did not|didn't|do not|don't|could not|couldn't) (?:see|spot|find|"
    r"notice) any|"
    r"\bi (?:found|saw|see|spotted) nothing\b|\bcould(?:n't| ?not) agree more\b|\bcan(?:n't|not|"
    r"'t) agree more\b|\bno[,.]? ?(?:this|it|i) "
)
_REASON_START = re.compile(
    r"[:;] |, ?(?:as|because|since|so that|especially|particularly)\b|\b(?:because|since) |\b(?:al)?though\b"
)
# After its stance a sentence may go on to something else: "Looks good, I did not know that."
_NEXT_CLAUSE = re.compile(
    r", ?(?:fwiw|regardless|especially|(?:and |so )?(?:i|we|i've|i'm|i'd|i'll)|thanks?)\b"
)
_CONDITION = re.compile(CONDITION.pattern)
_CONTRAST = re.compile(CONTRAST.pattern)
_REPORTED = re.compile(REPORTED.pattern)
_AFTERTHOUGHT = re.compile(r"\b(?:though|however)\W{0,3}$")
# After these the sentence turns: what counts comes now.
_TURN = re.compile(r"\b(?:but|however)\b,?")
_SUBORDINATE = re.compile(
    r"\W{0,4}(?:while|although|(?:even )?though|despite|notwithstanding|whereas|except|modulo|(?:apart|"
    r"aside) from|other than|besides)\b[^,]{3,200},"
)
# Words of somebody who is yet to be won over: "it will be hard to convince me that this is a good idea".
_UNPERSUADED = re.compile(
    r"\b(?:convinc\w+|persuad\w+|struggl\w+|hard|difficult|challenging|fail to|whether|un(?:convinced|"
    r"sure|clear)|"
    r"s[ck]eptical|reluctant|hesitant|hesitate|question(?:able)?|debatable|maybe|perhaps)\b"
)
_NEGATION = re.compile(
    r"n't\b|\b(?:not|no longer|never|nothing|without|cannot|nor|hardly|doubt(?:ful)?|unlikely|wonder|"
    r"neither|none|barely|nobody)\b"
)
_REQUESTS = re.compile(r"\W{0,4}but (?:please|(?:could|can|would) (?:you|we|somebody|someone))\b")
_OTHERWISE = re.compile(
    r"\b(?:but|and|that said,?) (?:otherwise|other than that|overall|apart from that|aside from that),? "
    r"(?:(?:this|it|all|the|these) )?(?:\w+ )?(?:looks?|lgtm|seems?|is|are)\b|^\W{0,4}(?:otherwise|other "
    r"than that|apart from that|aside from that|with that|besides that)\b"
)


def relation(thread: LinkedThread, put: Put, sentence: OwnSentence) -> str:
    """How the answered mail stands to the proposition: `put`, `author`, `other` or `unknown`."""
    answered = thread.answered(sentence)
    mail = thread.mail_of(sentence)
    if answered is None:
        # A cut thread opens with an answer to what came before it.
        return "put" if mail is thread.root and mail is not put.mail and len(put.mails) > 1 else "unknown"
    if answered in put.mails:
        return "put"
    return "author" if thread.mails[answered].person == put.person else "other"


def takes_nothing_back(
    thread: LinkedThread, sentence: OwnSentence, cue: re.Match[str] | None = None, *, may_ask: bool = False
) -> bool:
    """No question, condition, negation, contrast or reported speech in it, and no "but" right after it.

    `cue` are the words that count. Then only their clause is looked at: in "it is slow, but I support it" the
    second half is what the writer says, what follows a colon or a "because" is the reason for the stance, and
    a concession after it ("though it is a hack") leaves it standing. Where the words are plain a request may
    follow (`may_ask`): "I support this. But please define the term."
    """
    if sentence.asks or len(sentence.folded) > _LONG or is_legend(sentence):
        return False
    # "It looks fine, though.": what stands before it was the point.
    if _AFTERTHOUGHT.search(sentence.folded):
        return False
    following = thread.following(sentence)
    requests = may_ask and following is not None and _REQUESTS.match(following.folded)
    if following is not None and BUT_NEXT.finds(following) and (not requests or NEGATION.finds(following)):
        return False
    start, end = (_clause_start(sentence, cue), cue.end()) if cue else (0, 0)
    if start is None or _is_contrasted(sentence, end):
        return False
    stop = _clause_end(sentence.folded, end)
    following_clause = _NEXT_CLAUSE.search(sentence.folded, end, stop) if cue else None
    own_stop = following_clause.start() if following_clause else stop
    return _is_plain(sentence, sentence.folded[start:stop], sentence.folded[start:own_stop])


def _clause_start(sentence: OwnSentence, cue: re.Match[str]) -> int | None:
    """Where the clause with the cue begins; None where what stands before it limits it."""
    before = sentence.folded[: cue.start()]
    if not CONTRAST.finds(sentence):
        return 0
    # A sentence that opens with "But" turns against the one before it: its writer says both.
    turns = [found.end() for found in _TURN.finditer(before) if before[: found.start()].strip("\"'(* ")]
    subordinate = _SUBORDINATE.match(before)
    start = turns[-1] if turns else subordinate.end() if subordinate else 0
    return None if _CONTRAST.search(before, start) else start


def _is_contrasted(sentence: OwnSentence, cue_end: int) -> bool:
    if not CONTRAST.finds(sentence) or _OTHERWISE.search(sentence.folded):
        return False
    return any(not _concedes(found, cue_end) for found in _CONTRAST.finditer(sentence.folded, cue_end))


def _is_plain(sentence: OwnSentence, clause: str, own: str) -> bool:
    """Nothing in the clause is reported or on a condition; nothing in its `own` part negates it."""
    if REPORTED.finds(sentence) and _REPORTED.search(clause):
        return False
    if CONDITION.finds(sentence) and _CONDITION.search(clause):
        return False
    if _UNPERSUADED.search(own):
        return False
    # "Idon't think": a slip of the pen hides the word, not its ending.
    may_negate = "n't" in own or NEGATION.finds(sentence)
    return not may_negate or not _NEGATION.search(_NO_NEGATION.sub("", own))


def _concedes(contrast: re.Match[str], cue_end: int) -> bool:
    return bool(cue_end) and contrast[0] in {"though", "although"}


def _clause_end(folded: str, cue_end: int) -> int:
    """Where the clause with the cue ends; the whole sentence where no cue is given."""
    found = _REASON_START.search(folded, cue_end) if cue_end else None
    return found.start() if found else len(folded)


def place(thread: LinkedThread, sentence: OwnSentence) -> str:
    """Where a sentence stands: the whole of a short mail, its opening, its closing, or inside."""
    mail = thread.mail_of(sentence)
    count = len(mail.sentences)
    if count <= _FEW_SENTENCES:
        return "whole"
    if sentence.index <= 1 and len(mail.mail.quotes) <= 1:
        return "opening"
    return "closing" if sentence.index >= count - 2 else "inside"


def takes_a_pull(thread: LinkedThread, put: Put, sentence: OwnSentence) -> bool:
    """Thanks and nothing else, to a pull request: so a maintainer says that it was pulled."""
    mail = thread.mail_of(sentence)
    return (
        bool(_PULL.search(put.mail.mail.subject))
        and len(mail.sentences) <= _FEW_SENTENCES
        and THANKS.finds(sentence)
        and not any(one.asks or NEGATION.finds(one) for one in mail.sentences)
        and relation(thread, put, sentence) == "put"
    )


def is_of_it(thread: LinkedThread, put: Put, sentence: OwnSentence) -> bool:
    """Several may bring patches into one thread, and a maintainer speaks of other topics, too."""
    names = word_key(put.mail.mail.name).split()
    if any(word_key(one[1]) not in names for one in _OTHERS_WORK.finditer(sentence.text)):
        return False
    answered = thread.answered(sentence)
    chain = [] if answered is None else [thread.mails[answered], *thread.ancestors(thread.mails[answered])]
    patch = next((one for one in chain if one.is_patch), None)
    return patch is None or patch.number in put.mails
