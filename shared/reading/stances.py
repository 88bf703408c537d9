"""The meaning of one sentence: its stance, what it answers, and what takes it back."""

import re

from shared.reading import cues
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import OwnSentence, word_key
from shared.reading.proposal import Proposal, proposes_plainly
from shared.reading.stance_cues import AGREES, APPROVES, EXCLAIMS, NO_OBJECTION, SUPPORTS
from shared.reading.votes import is_legend

_BARE_WORDS = 6
_PARTIAL = re.compile(
    r"\b(?:(?:your|his|her|their|good|great|fair|valid|that|this) points?|"
    r"catch|question|spot|remarks?|comments?|observation|reasoning|argument|assessment|sentiment|story|"
    r"news|luck|nit|typo|(?<!n't )(?<!not )find|explanation|example|analysis|summary|report|reminder)\b|"
    r"\blooks? \w+ (?:in|on) (?:the|my|a)\b"
)
WHOLE = re.compile(
    r"\b(?:patch(?:es|set)?|series|proposals?|ideas?|plan|draft|document|"
    r"charter|approach|feature|changes?|adopt\w*|publi\w*|direction|release|merg\w+|fix|version|cleanup)\b"
)
_MY_REMARKS = re.compile(r"\b(?:my|no (?:further|more|other)) (?:\w+ )?(?:comments?|remarks?|nits)\b")
_PROPOSED = re.compile(
    r"\b(?:proposals?|"
    r"ideas?|suggestions?|plan|approach|hack|patch(?:es)?|draft|text|charter|adopt\w*|requirements?)\b"
)
GOOD_IDEA = re.compile(
    r"(?:^\W{0,3}|\b(?:sounds|seems) like an? )"
    r"(?:very |really )?(?:good|great|excellent|brilliant) (?:idea|plan|proposal|suggestion)\b(?! to\b)"
)
"""Such words imply that a person had an idea: "Good idea."."""
_FIRST_PERSON = frozenset({"i", "i'm", "i'd", "we", "my", "me"})
_PLUS_ONE = re.compile(r"\+1 (?:from|for|on)\b|\bi(?:'m| am) (?:a )?\+1\b")
_ALONE = re.compile(
    r"(?:\+ ?1|agreed?|concur|seconded|me too|same here)"
    r"(?: (?:from|for) (?:me|us|my side))?(?: ?[(\[](?:non-? ?)?binding[)\]])?(?:[,;:!.(-]| -)"
)
_TO_THE_WHOLE = re.compile(
    r"\+ ?1 (?:for|to|on) (?:this|that|it|adopt\w*|merg\w*|publi\w*|"
    r"(?:the|this|your) (?:\w+ )?(?:proposal|idea|plan|patch|series|change|draft|document|approach))\b"
)
ACK = re.compile(r"\+ ?1|^\W{0,3}r\+|\back|\bseconded\b|\bme too\b|\U0001f44d")
"""Words such as "+1" or "Seconded" are about the whole. "I agree" may be about a line of it."""
_WHEN = re.compile(
    r"\b(?:once|until|if|unless|as soon as)\b|"
    r"\b(?:when|after|before|while) (?:\w+ ){0,3}(?:i|we|you|it|they|somebody|someone|others)\b"
)
_TRIAL = re.compile(
    r"\blocally\b|\bfor (?:a |some |my )?(?:tests?|testing|review)\b|"
    r"\b(?:tests?|build|it|compil\w+|boot) (?:\w+ )?(?:fails?|failed|failing|broke|breaks|crash\w*)\b|"
    r"\b(?:to|and|then|will) (?:test|try|see if|check whether)\b"
)
"""A person who takes a patch to try it has not accepted it."""
_UNTIL_THEN = re.compile(
    r"\b(?:when|"
    r"once|if|unless|until|provided|assuming|as soon as|after (?:\w+ ){0,3}(?:i|we|you|it|they|he|she))\b"
)
""""I'll queue it" with such a term may postpone the act, so nothing is taken yet."""
TROUBLE = re.compile(
    r"\b(?:revert\w*|conflicts?|crash\w*|same|the other|else|instead|wrong|back|"
    r"out of|fuzz|cleanly|twice|fine here|something|have a look|(?:applied|queued|merged|pushed|committed|"
    r"pulled)(?: \w+){0,2} by (?!hand\b)\w+)\b|^\W{0,4}(?:applied|queued|merged|pushed|committed|pulled)"
    r" (?!(?:to|in|into|as|for|this|it|them|both|all|thanks|"
    r"now|with|the|your|on|and|patch|patches|series|v\d|just|up|by|here|locally|manually|these|that)\b)[a-z]"
)
"""Words of a person who took something else, or who tells how it went or who took it."""
WHOLE_SERIES = re.compile(
    r"\b(?:series|patchset|"
    r"patches|both|all|everything|whole|overall|these|they|version|round|iteration|reroll|v\d{1,2})\b"
)
"""The sentence is about more than the one patch that it answers."""
REST = re.compile(r"\b(?:the rest|everything else|otherwise|other than|apart from|aside from|besides)\b")


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
    """Return the words that count. Words in another clause say nothing about them."""
    return SUPPORTS.search(sentence) or APPROVES.search(sentence)


def is_partial(sentence: OwnSentence, cue: re.Match[str] | None) -> bool:
    """Return whether the sentence praises only a part, such as a remark, a find or a story."""
    clause = sentence.folded
    if cue is not None:
        before = max(clause.rfind(mark, 0, cue.end()) for mark in ",;!.")
        clause = clause[max(before, cue.start()) :]
    return bool(_PARTIAL.search(clause)) and not WHOLE.search(clause) and not _MY_REMARKS.search(clause)


def names_a_proposal(sentence: OwnSentence) -> bool:
    """Return whether the words show that something was proposed and that the writer judges it."""
    return bool(_PROPOSED.search(sentence.folded)) and not _FIRST_PERSON.isdisjoint(sentence.words)


def is_plus_one(sentence: OwnSentence) -> bool:
    return "+1" in sentence.folded and bool(_PLUS_ONE.search(sentence.folded))


def is_bare(sentence: OwnSentence) -> bool:
    """Return whether an agreement says nothing else, or says it first: "+1: it saves time"."""
    if len(re.findall(r"\w+", sentence.text)) <= _BARE_WORDS:
        return True
    return bool(_ALONE.search(sentence.folded[:60]) or _TO_THE_WHOLE.search(sentence.folded[:60]))


def accepts(sentence: OwnSentence) -> bool:
    """Return whether the words accept, and do not tell what happened in a trial."""
    found = cues.ACCEPTS.search(sentence)
    if found is not None and _TRIAL.search(sentence.folded):
        return False
    if found is None or _WHEN.search(sentence.folded[: found.end()]):
        return False
    return not _UNTIL_THEN.search(sentence.folded, found.end())


def implies_a_proposal(sentence: OwnSentence) -> bool:
    """Return whether a vote or support in the first person implies a proposal."""
    if is_plus_one(sentence):
        return True
    return SUPPORTS.finds(sentence) and not _FIRST_PERSON.isdisjoint(sentence.words)


FIRM_OPENING = re.compile(
    r"\W{0,4}(?:(?:ok|okay|thanks|thank you|good|great|"
    r"nice)[,.;! ]+){0,2}(?:will queue|queued|applied|let's merge|will apply|will merge|merged|pushed)\b"
)
TAKEN_AT_ONCE = re.compile(
    r"\W{0,4}(?:(?:ok(?:ay)?|sure|yes|yeah|great|cool|good|thanks|thank you|(?:hearing|seeing|with) "
    r"no (?:objections?|complaints?))(?: all| both| you all| everyone)?[,.;:! -]+){0,3}(?:so )?(?:i(?:'ve| "
    r"have)? )?(?:(?:now|just|already|gone ahead and) )?(?:(?:both|all|the|"
    r"your|this)? ?(?:patch(?:es)?|series|v\d{1,2}) )?(?:is |are |has been |have been )?(?:now )?(?:applied|"
    r"queued|merged|pushed|pulled|committed)(?:[.,!;]|$| (?:to|in|as|for|this|it|them|both|all|thanks|now)\b)"
)
ACK_LATER = re.compile(
    r"\b(?:once|"
    r"when|after|until|provided|assuming|with|only|but|as soon as|whether|mistake|remove\w*|drop\w*)\b"
)
"""An acknowledgment that is yet to be given, or is taken back."""
FIRM_NO = re.compile(
    r"^\W{0,4}(?:(?:sorry|strong|big|definite|my|a)[, ]+){0,2}(?:-\s?1\b(?!\d|\.\d)|nak\b|nack\b|veto\b)|"
    r"\bi(?:'m| am) (?:an? )?(?:strong(?:ly)? |definite(?:ly)? )?-\s?1\b|"
    r"^\W{0,4}(?:please (?:don't|do not))[.! ]*$|\bnot "
    r"(?:\w+ )?in favou?r of (?:this|that|it|adopt\w*|publi\w*|the (?:draft|document|proposal|patch))\b|"
    r"\bshould(?:n't| not)? (?:\w+ly )?(?:adopt|publish|merge|accept) (?:this|it|that|the)\b|\b(?:object to|"
    r"oppose|opposed to|against|support|disagree with) (?:this|that|it|adopt\w*|publi\w*|releas\w*|(?:the|"
    r"your) (?:\w+ )?(?:proposal|patch|series|change|draft|document|adoption|release|idea|plan))\b|\bshould "
    r"(?:be |not be )?(?:adopted|published|merged|accepted)\b|\brather not (?:merge|adopt|take|apply|add)\b"
)
OBJECTS_TO_DOING = re.compile(
    r"\b(?:i|we)(?:'m|'re| am| are)? (?:(?!not )\w+ )?(?:object to|oppose|against|opposed to) \w+ing\b"
)
NO_WHEN_ASKED = re.compile(
    r"^\W{0,4}(?:i |we )?(?:(?:strongly|firmly|also) )?(?:oppose|object|not support)"
    r"(?:,? (?:too|as well|also))?(?:[.!;:, ]*$|[;:,] )|^\W{0,4}(?:i am |i'm |we are |we're |i remain |"
    r"we remain )?(?:(?:still|also|strongly|firmly) )?opposed(?:,? (?:too|as well|also))?(?:[.! ]*$|[;:] )|"
    r"\bready (?:for|to be) (?:adopt\w+|publi\w+)\b|^\W{0,4}not (?:yet )?ready(?:[.! ]*$|[,;:] )|"
    r"\b(?:don't|do not) (?:think|believe) (?:that )?(?:this|it|the (?:draft|document|text))"
    r"(?: is|'s) (?:yet )?ready[.! ]*$|^\W{0,4}(?:it|this|the (?:draft|document|text))"
    r" (?:is not|isn't) (?:yet )?ready(?: yet)?(?:[.! ]*$|[;:] )"
)
"""Plain words of people whom a call asks."""
OBJECTS = re.compile(
    r"\b(?:i|we) (?:\w+ )?(?:object|oppose|(?:don't|do not|cannot|can't) (?:\w+ )?(?:support|think|believe))"
    r"\b|\b(?:i|we)(?:'m| am|'re| are| remain) (?:\w+ )?(?:opposed|against)\b|\bready\b"
)
"""An objection in the writer's own name. In answer to a call it counts even if it is to the current text."""
SO_FAR = re.compile(
    r"\b(?:yet|as[- ]is|as it (?:is|"
    r"stands)|(?:(?:its|the|this) )?(?:current|present) (?:form|state)|now|at this (?:time|point|stage))\b"
)
ALSO = re.compile(r"\b(?:as well|too|also)\b")
"""Words that follow another person's equal statement."""
OF_OTHERS = re.compile(
    r"\b(?:chairs?|authors?|editors?|maintainers?|wg|working group|group|community|committee|list|"
    r"\w+'s view is that \w+) (?:\w+ )?(?:(?:do|does|did)(?: ?n't| not)|objects?|opposes?|object(?:ed)|"
    r"opposed|are against|is against)\b"
)
"""The stance of a person other than the writer."""
IF = re.compile(r"\b(?:if|unless)\b")
REASON = re.compile(r"[:;] |,? (?:because|since) ")
NOT_AS_IT_IS = re.compile(
    r"\b(?:if|unless|until|before|without|yet|"
    r"as[- ]is|as it (?:is|stands)|(?:its|the) (?:current|present) form|now|at this (?:time|point|stage))\b"
)
"""Opposition to the current state only, which may change."""
IN_A_PRODUCT = re.compile(
    r"\b(?:in|on|with|by|since) (?:our|my|the|its|their|this|version) (?:\w+ )?(?:product|implementation|"
    r"stack|code|library|server|client|device|release|version|\d)\w*|\b(?:already|currently|natively) support"
)
"""Support by software, not by a person."""
AGREES_WITH = re.compile(r"\b(?:agree|concur) with ([A-Z][\w-]+)\b")
AGREES_WITH_ALL = re.compile(
    r"\b(?:agree|concur) (?:\w+ )?with [A-Z][\w-]+(?: here| on this| fully| completely| entirely)?"
    r"(?:[.,:;!]|\W*$)"
)
"""Agreement with a person, and not with one of their points."""
OF_WHAT = re.compile(
    r"\b(?:supports?|supporting|endorse|favou?r(?: of)?|agree (?:with|to)|object to|"
    r"oppose|opposed to|against) ((?:the|this|a|an|its|your|such|proposed|complete|full) ){0,3}(\w+)"
)
"""The first word of a stance's object."""
ITSELF = frozenset(
    {"this", "that", "it", "these", "call", "proposal", "change", "changes", "idea", "plan", "draft"}
    | {"document", "text", "approach", "suggestion"}
)
"""Words that name the proposal itself, and nothing in it."""
UNDOES = re.compile(
    r"\b(?:remov\w+|drop|drops|dropping|renam\w+|replac\w+|"
    r"deprecat\w+|delet\w+|retir\w+|chang\w+|switch\w*|get rid of|disabl\w+|mov(?:e|es|ing)|instead)\b"
)
"""The proposal removes or changes something that exists."""
KEEPS_WHAT = re.compile(r"\b(?:keep|retain|leav)(?:e|ing)? (?:(?:the|this|it|only) ){0,2}(\w+)")
CONDITIONAL_CONSENT = re.compile(r",? (?:as long as|provided(?: that)?|so long as) ")
SUPPORTS_DOING = re.compile(r"\bi(?:'d| would)? (?:\w+ ){0,2}(?:support|endorse|favou?r) \w+ing\b")
AGREES_TO_DO = re.compile(
    r"\b(?:agree|agreed|concur),? (?:that )?(?:we|it|this|that|they)"
    r" (?:should(?! not)|ought to|need to|makes sense)\b|\+ ?1 (?:for|on|to) (?:\w+ing|having)\b"
)
TURNS = re.compile(r"n't\b|\b(?:not|never|no longer|nobody|nor)\b")
DEMANDS = re.compile(
    r"\b(?:break|breaks|broken|missing|wrong|must|fails?|bugs?|crash\w*|incorrect|needs? to|"
    r"have to|please (?!let|see|find|feel|note|consider|do\b|go|merge|apply|adopt|accept|add my)\w+)\b"
)
TEST_RUN = re.compile(r"\b(?:and|to|will) (?:test|try|see|report|check)\b")


_MAX_TAIL = 1_200
"""Letters of a quote's end in which the proposing words are looked for."""
_NEAR = 220
"""Letters that may follow these words before the answer, such as a reason or a courtesy."""
_MIN_KEY = 12
_FEW_SENTENCES = 3
_PROPOSING_QUESTION = re.compile(
    r"\b(?:should(?:n't)? we|shall we|could(?:n't)? we|why (?:don't we|not)|how about|what about \w+ing|"
    r"do (?:you|others|people|we) (?:all )?agree|does (?:that|this|it) (?:all )?(?:make sense|"
    r"sound|seem|look|work)|(?:is|are|would) (?:that|this|it|these|such an? \w+) (?:be )?(?:ok|"
    r"okay|acceptable|fine|reasonable|sensible|a good idea)|(?:is|would be) a good idea)\b[^?]*\?\W*$"
)
_TURNED_QUESTION = re.compile(
    r"\b(?:or|keep|really|still|at all|even|bother|not|n't we|nobody|anybody|anyone|mind|object)\b|"
    r"n't\b(?! we)"
)
"""A question whose "yes" may mean either side."""


def opens_the_answer(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """Return whether it is one of the first two sentences, above all quotes or below the first one."""
    return sentence.index <= 1 and sentence.block <= 0 and _shows_quotes(thread, sentence)


def answers_the_proposal(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> bool:
    """Return whether it opens an answer, or is directly below the quoted sentence that proposes."""
    if sentence.block < 0:
        return opens_the_answer(thread, sentence)
    return _is_below_proposing_words(thread, proposal, sentence)


def answers_a_proposing_question(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """Return whether it is directly below a quoted question that proposes: "Should we drop it?"."""
    if sentence.block < 0 or (sentence.index > 0 and not sentence.opens_paragraph):
        return False
    quoted = " ".join(thread.mail_of(sentence).mail.quotes[sentence.block].text[-_MAX_TAIL:].split()).lower()
    last = re.split(r"[.!?:;]\s+(?=\S)", quoted)[-1]
    found = _PROPOSING_QUESTION.search(last)
    return found is not None and not _TURNED_QUESTION.search(last, found.start())


def _is_below_proposing_words(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> bool:
    quoted = word_key(thread.mail_of(sentence).mail.quotes[sentence.block].text[-_MAX_TAIL:])
    for proposing in proposal.mail.sentences:
        if not (
            cues.PROPOSES.finds(proposing) or cues.ASKS_GROUP.finds(proposing) or proposes_plainly(proposing)
        ):
            continue
        key = proposing.key[-80:]
        place = quoted.rfind(key) if len(key) >= _MIN_KEY else -1
        if place >= 0 and len(quoted) - place - len(key) <= _NEAR:
            return True
    return False


def _shows_quotes(thread: LinkedThread, sentence: OwnSentence) -> bool:
    """Return whether the mail is short or its archive kept quotes, so that a place in it is known."""
    mail = thread.mail_of(sentence)
    return len(mail.sentences) <= _FEW_SENTENCES or keeps_quotes(thread)


def keeps_quotes(thread: LinkedThread) -> bool:
    return any(mail.mail.quotes for mail in thread.mails)


_LONG = 300
_OTHERS_WORK = re.compile(r"\b([A-Z]\w+)'s (?:\w+ )?(?:work|series|topic|patch(?:es)?|branch)\b")
_PULL = re.compile(r"\b(?:pull|PULL)\b")
_NO_NEGATION = re.compile(
    r"\b(?:don't|do not) have anything against\b|\b(?:don't|do not|won't|will not|wouldn't|would not)"
    r" (?:\w+ )?object\b|\bno (?:objections?|problems?|issues?|concerns?)\b|"
    r"\b(?:no longer|don't|do not) have any\b|\bno doubt\b|\bwhy not\b|\b(?:did not|didn't|"
    r"do not|don't|could not|couldn't) (?:see|spot|find|notice) any|\bi (?:found|saw|see|spotted) nothing\b|"
    r"\bcould(?:n't| ?not) agree more\b|\bcan(?:n't|not|'t) agree more\b|\bno[,.]? ?(?:this|it|i) "
)
_REASON_START = re.compile(
    r"[:;] |, ?(?:as|because|since|so that|especially|particularly)\b|\b(?:because|since) |\b(?:al)?though\b"
)
# After its stance a sentence may go on to something else: "Looks good, I did not know that.".
_NEXT_CLAUSE = re.compile(
    r", ?(?:fwiw|regardless|especially|(?:and |so )?(?:i|we|i've|i'm|i'd|i'll)|thanks?)\b"
)
_AFTERTHOUGHT = re.compile(r"\b(?:though|however)\W{0,3}$")
# After these words the sentence turns, and the following part counts.
_TURN = re.compile(r"\b(?:but|however)\b,?")
_SUBORDINATE = re.compile(
    r"\W{0,4}(?:while|although|(?:even )?though|"
    r"despite|notwithstanding|whereas|except|modulo|(?:apart|aside) from|other than|besides)\b[^,]{3,200},"
)
# Words of a person who is not convinced yet: "it will be hard to convince me that this is a good idea".
_UNPERSUADED = re.compile(
    r"\b(?:convinc\w+|persuad\w+|struggl\w+|hard|difficult|challenging|fail to|whether|un(?:convinced|"
    r"sure|clear)|s[ck]eptical|reluctant|hesitant|hesitate|question(?:able)?|debatable|maybe|perhaps)\b"
)
_NEGATION = re.compile(
    r"n't\b|\b(?:not|no longer|"
    r"never|nothing|without|cannot|nor|hardly|doubt(?:ful)?|unlikely|wonder|neither|none|barely|nobody)\b"
)
_REQUESTS = re.compile(r"\W{0,4}but (?:please|(?:could|can|would) (?:you|we|somebody|someone))\b")
_OTHERWISE = re.compile(
    r"\b(?:but|and|that said,?) (?:otherwise|other than that|overall|apart from that|aside from that)"
    r",? (?:(?:this|it|all|the|these) )?(?:\w+ )?(?:looks?|lgtm|seems?|is|are)\b|"
    r"^\W{0,4}(?:otherwise|other than that|apart from that|aside from that|with that|besides that)\b"
)


def relation(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> str:
    """Return what the sentence answers: `proposal`, another mail of its `author`, `other` or `unknown`."""
    answered = thread.answered(sentence)
    mail = thread.mail_of(sentence)
    if answered is None:
        # A cut thread opens with an answer to an earlier mail.
        return (
            "proposal"
            if mail is thread.root and mail is not proposal.mail and len(proposal.mails) > 1
            else "unknown"
        )
    if answered in proposal.mails:
        return "proposal"
    return "author" if thread.mails[answered].person == proposal.person else "other"


def takes_nothing_back(
    thread: LinkedThread, sentence: OwnSentence, cue: re.Match[str] | None = None, *, may_ask: bool = False
) -> bool:
    """Return whether nothing in the sentence, and no "but" right after it, takes its words back.

    With `cue`, only its clause counts. In "it is slow, but I support it" the second half is the stance. Words
    after a colon or a "because" are its reason, and a later concession ("though it is a hack") leaves it
    intact. With `may_ask`, a request may follow: "I support this. But please define the term.".
    """
    if sentence.asks or len(sentence.folded) > _LONG or is_legend(sentence):
        return False
    # "It looks fine, though." concedes something, and the point came before it.
    if _AFTERTHOUGHT.search(sentence.folded):
        return False
    following = thread.following(sentence)
    requests = may_ask and following is not None and _REQUESTS.match(following.folded)
    if (
        following is not None
        and cues.BUT_NEXT.finds(following)
        and (not requests or cues.NEGATION.finds(following))
    ):
        return False
    start, end = (_clause_start(sentence, cue), cue.end()) if cue else (0, 0)
    if start is None or _is_contrasted(sentence, end):
        return False
    stop = _clause_end(sentence.folded, end)
    following_clause = _NEXT_CLAUSE.search(sentence.folded, end, stop) if cue else None
    own_stop = following_clause.start() if following_clause else stop
    return _is_plain(sentence, sentence.folded[start:stop], sentence.folded[start:own_stop])


def _clause_start(sentence: OwnSentence, cue: re.Match[str]) -> int | None:
    """Return where the clause with the cue begins, or None if the text before limits it."""
    before = sentence.folded[: cue.start()]
    if not cues.CONTRAST.finds(sentence):
        return 0
    # An opening "But" turns against the previous sentence, and the writer says both.
    turns = [found.end() for found in _TURN.finditer(before) if before[: found.start()].strip("\"'(* ")]
    subordinate = _SUBORDINATE.match(before)
    start = turns[-1] if turns else subordinate.end() if subordinate else 0
    return None if cues.CONTRAST.anywhere.search(before, start) else start


def _is_contrasted(sentence: OwnSentence, cue_end: int) -> bool:
    if not cues.CONTRAST.finds(sentence) or _OTHERWISE.search(sentence.folded):
        return False
    conceded = {"though", "although"} if cue_end else set()
    return any(
        found[0] not in conceded for found in cues.CONTRAST.anywhere.finditer(sentence.folded, cue_end)
    )


def _is_plain(sentence: OwnSentence, clause: str, own: str) -> bool:
    """Return whether the clause reports nothing and has no condition, and its `own` part is not negated."""
    if cues.REPORTED.finds(sentence) and cues.REPORTED.anywhere.search(clause):
        return False
    if cues.CONDITION.finds(sentence) and cues.CONDITION.anywhere.search(clause):
        return False
    if _UNPERSUADED.search(own):
        return False
    # A slip such as "Idon't think" hides the word, but not its ending.
    may_negate = "n't" in own or cues.NEGATION.finds(sentence)
    return not may_negate or not _NEGATION.search(_NO_NEGATION.sub("", own))


def _clause_end(folded: str, cue_end: int) -> int:
    """Return where the clause with the cue ends, or the end of the sentence without a cue."""
    found = _REASON_START.search(folded, cue_end) if cue_end else None
    return found.start() if found else len(folded)


def place(thread: LinkedThread, sentence: OwnSentence) -> str:
    """Return a sentence's place: the `whole` of a short mail, its `opening`, its `closing` or `inside`."""
    mail = thread.mail_of(sentence)
    count = len(mail.sentences)
    if count <= _FEW_SENTENCES:
        return "whole"
    if sentence.index <= 1 and len(mail.mail.quotes) <= 1:
        return "opening"
    return "closing" if sentence.index >= count - 2 else "inside"


def accepts_pull_request(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> bool:
    """Return whether thanks, and nothing else, accept a pull request."""
    mail = thread.mail_of(sentence)
    return (
        bool(_PULL.search(proposal.mail.mail.subject))
        and len(mail.sentences) <= _FEW_SENTENCES
        and cues.THANKS.finds(sentence)
        and not any(other.asks or cues.NEGATION.finds(other) for other in mail.sentences)
        and relation(thread, proposal, sentence) == "proposal"
    )


def is_of_it(thread: LinkedThread, proposal: Proposal, sentence: OwnSentence) -> bool:
    """Return whether the words are about the proposal, and not about another patch or topic."""
    names = word_key(proposal.mail.mail.name).split()
    if any(word_key(match[1]) not in names for match in _OTHERS_WORK.finditer(sentence.text)):
        return False
    answered = thread.answered(sentence)
    chain = [] if answered is None else [thread.mails[answered], *thread.ancestors(thread.mails[answered])]
    patch = next((mail for mail in chain if mail.is_patch), None)
    return patch is None or patch.number in proposal.mails
