"""The words by which people on lists agree, disagree, propose and decide: hand-written cues.

Each cue is a pattern over folded text (see `fold`). `cue_vector` turns a segment into the few numbers that
the dialogue-act model weighs; the weights are learned, the cues are not.
"""

import re

import numpy as np
from numpy.typing import NDArray

from shared.domain.consensus.own_sentences import fold

_I = r"\b(?:i|we)(?:'m|'d|'ve|'ll)?\b"
_ADVERBS = r"(?:\s+(?:\w+ly|also|do|would|very|much|too|still|now|just|have to|must|tend to|quite|can|only))*"
_OPENING = (
    r"^(?:(?:hi|hello|dear|hey)\b[^\n.!?]{0,40}[,.!\n]\s*)?(?:[a-z]{2,14}\s*(?:[,:-]+)\s+)?"
    r"(?:s?\d+[a-z]?\.\s+)?"
)

CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        # Agreement
        "opens_with_yes": _OPENING + r"(?:oh,?\s+|ah,?\s+|well,?\s+|ok(?:ay)?,?\s+)?"
        r"(?:yes|yep|yup|yeah|indeed|exactly|precisely|right|correct|agreed?"
        r"|sure|certainly|absolutely|definitely|of course|true|fair enough|ok(?:ay)?|fine|good (?:point"
        r"|idea|catch)"
        r"|same here|seconded|concur|ditto|ack|makes sense|will do|great|perfect)\b",
        "plus_one": r"(?:^|[\s(:])\+\s?1(?![\d.])(?!\s*[-(]?\d)",
        "says_agree": rf"(?:{_I}{_ADVERBS}\s+(?:agree|concur|second)\b|^{_ADVERBS}\s*agree\b"
        r"|\bagreed\b(?! (?:to|on|that|in|at|upon|by)\b)|\bin agreement\b|\bcouldn't agree more\b)",
        "says_right": r"\b(?:you|that|this|it|he|she|\w+)(?:'s|'re| is| are| might be| may be)\s+"
        r"(?:\w+ly\s+|quite\s+|indeed\s+)?(?:right|correct|true)\b|\byour? (?:right|correct)\b",
        "approves": r"\b(?:sounds?|looks?|seems?|works?|reads?) (?:\w+ )?(?:good|great|fine|reasonable|ok"
        r"|okay|right|better|sensible"
        r"|useful|acceptable|for me)\b|\bmakes? (?:a lot of |perfect |good )?sense\b|\b(?:good|great"
        r"|excellent|fair|valid) "
        r"(?:idea|point|suggestion|catch|proposal|summary)\b|\b(?:fine|ok|okay|happy|comfortable) with\b"
        r"|\blgtm\b",
        "would_welcome": r"\b(?:would|will|'d) (?:be|also be|indeed be) (?:\w+ )?(?:great|good|nice|useful"
        r"|helpful|fine|reasonable|welcome"
        r"|ideal|appreciated)\b|\b(?:is|are) (?:\w+ )?(?:reasonable|a good idea|fair)\b",
        "supports": rf"{_I}{_ADVERBS}\s+(?:support|favou?r|endorse|like)\b|\bin favou?r of\b|\bin support"
        rf" of\b"
        r"|\b(?:no|not?) (?:objections?|object|opposed)\b",
        "joins_in": rf"{_I} (?:also|too) (?:think|believe|feel|have|agree|support|see|prefer)\b|\bme too\b"
        rf"|\bas (?:you|\w+) "
        r"(?:said|says|noted|pointed out)\b|\b(?:same|similar) (?:view|feeling|opinion|thought)\b",
        "concedes": r"\b(?:i|we) (?:just )?missed\b|\bmy (?:mistake|bad|fault)\b|\b(?:we|i) can"
        r" (?:certainly |of course )?"
        r"(?:add|change|do|fix|clarify|switch|remove)\b|\b(?:will|i'll|we'll) (?:fix|add|change|correct"
        r"|update|clarify|make)\b",
        # Disagreement
        "says_disagree": rf"\bdisagree|\bdissent|{_I}{_ADVERBS}\s+(?:object|oppose)\b|\bobject to\b"
        rf"|\bopposed to\b|\bagainst\b"
        r"|\b(?:don't|do not|cannot|can't|doesn't|not) (?:\w+ly )?(?:agree|support|accept|like|buy|want"
        r"|endorse)\b",
        "opens_with_no": _OPENING + r"(?:oh,?\s+|ah,?\s+|well,?\s+|hmm+,?\s+|sorry,?\s+)?"
        r"(?:no\b(?!\.? \d)|nope|not\b|but\b|however|actually|hmm|i don't|i do not"
        r"|i would not|i wouldn't|unfortunately|i'm not|i am not|why\b|isn't)",
        "calls_wrong": r"\b(?:wrong|incorrect|false|not (?:true|correct|right|the case|exactly|quite)"
        r"|mistaken|mis(?:understand|understood|"
        r"interpret|read|leading|guided)\w*|makes? no sense|(?:doesn't|does not|not)"
        r" make (?:any |much )?sense"
        r"|broken|bogus|nonsense)\b",
        "sees_no_need": r"\b(?:don't|do not|can't|cannot|couldn't|could not|fail to) (?:\w+ )?(?:see"
        r"|understand|think|believe|know (?:how|why)|get)\b"
        r"|\bno (?:need|reason|point|benefit|value)\b|\b(?:unnecessary|needless|overkill|pointless|useless"
        r"|not (?:needed|necessary|required"
        r"|useful|helpful|appropriate|optimal|convinced|sure|a good idea|clear|ready))\b",
        "worries": r"\b(?:concern(?:s|ed)?|worr(?:y|ied|ies)|afraid|fear|problem(?:atic)?|downside|risk"
        r"|harm|confus\w+|issue is|trouble)\b",
        "refuses": rf"{_I} (?:would|will|do|did|am|could|can)(?:n't| not)\b|{_I} (?:'d|would)?\s*(?:rather"
        rf"|prefer)\b|\bshould(?:n't| not)\b"
        r"|\bwon't (?:work|help)\b|\bwill not (?:work|help)\b|\brather than\b|\bargu(?:e"
        r"|ing|ment)\b",
        "contrasts": r"\b(?:but|however|though|although|yet|nevertheless|still|instead|on the other hand"
        r"|rather)\b",
        "clarifies_aim": r"\bis(?:n't| not) (?:to|about|saying|asking|intended|meant)\b|\b(?:explicitly"
        r"|already) (?:not |says|said|mentioned)\b"
        r"|\bnot saying\b|\bthe (?:goal|purpose|point|intent|aim|issue) (?:of|is)\b|\bwas not\b|\bsays"
        r" nothing\b",
        # Decision
        "announces": r"\b(?:i|we)(?:'ve| have)? (?:just |also |already |now )?(?:updated|changed|added"
        r"|removed|fixed|merged|pushed|posted|"
        r"submitted|published|incorporated|moved|committed|addressed"
        r"|reviewed|closed|made|decided|declare"
        r"|concluded|chosen)\b|^\s*-?\s*(?:added|changed|removed|fixed"
        r"|done|merged)\b",
        "commits": r"\b(?:i|we)(?:'ll| will| plan to| intend to| am going to| are going to)\b(?! (?:not|be"
        r" able))|\bwe are moving\b"
        r"|\bwilling to\b",
        "decides": r"\b(?:decided|decision|declare[ds]?|conclu(?:de|ded|sion)|resolved|consensus|agreed"
        r" (?:to|on|that)|come to)\b|\bwg document\b"
        r"|\bthe (?:changes|updated version|new version)\b|\bmoving (?:the document"
        r" )?forward\b|\bhas been (?:posted|updated|made)\b",
        # Proposal
        "proposes": r"\b(?:propos\w+|suggest\w*|recommend\w*|how about|what about|let's|let us|why (?:not"
        r"|don't we)|perhaps|maybe)\b",
        "obliges": r"\b(?:should|must|shall|need(?:s)? to|has to|have to|ought to|could)\b",
        "requests": r"\b(?:please|would like|it would be|would be (?:good|nice|great|better|helpful)|would"
        r" appreciate|can you|could you)\b|\bs/[^/\n]+/",
        # The rest
        "hedges": r"\b(?:might|may|perhaps|maybe|probably|seems?|guess|suspect|not sure|unsure|wonder)\b",
        "thanks": r"\b(?:thanks?|thank you|thx|cheers|regards)\b",
        "addresses_you": r"\byou(?:r|'re|'ve)?\b",
        "first_person": rf"{_I}",
        "thinks": rf"{_I}{_ADVERBS}\s+(?:think|believe|feel|consider|would say|assume|expect)\b|\bimh?o\b"
        rf"|\bfwiw\b|\bin my (?:view|opinion)\b",
        "negates": r"n't\b|\bnot\b|\bno\b|\bnever\b|\bnone\b|\bnothing\b|\bneither\b",
        "asks": r"\?",
        "cites": r"https?://|\[\d+\]|\brfc\s?\d+|\bsection \d|\bdraft-\w+",
        "looks_like_spec": r"\b(?:MUST|SHALL|SHOULD|MAY)\b|^\s*(?:o |\d+\.\s|\*\s|- )|[{}=;]{2,}|\ba=\w+",
    }.items()
}

_CASED = frozenset({"looks_like_spec"})
_SHORT_WORDS = 6
_LONG_WORDS = 60
FEATURES = (*CUES, "words_log", "is_short", "is_long", "opens_yes_but", "agree_early", "disagree_early")


def cue_vector(text: str) -> NDArray[np.float64]:
    """The features of a segment, in the order of `FEATURES`."""
    folded = fold(text).strip()
    hits = {name: _found(name, pattern, text, folded) for name, pattern in CUES.items()}
    words = len(folded.split())
    head = folded[:80]
    derived = (
        float(np.log1p(words)),
        float(words <= _SHORT_WORDS),
        float(words > _LONG_WORDS),
        float(
            hits["opens_with_yes"] and bool(re.search(r"\b(?:but|however|although|though)\b", folded[:160]))
        ),
        float(bool(CUES["says_agree"].search(head) or CUES["says_right"].search(head))),
        float(bool(CUES["says_disagree"].search(head) or CUES["calls_wrong"].search(head))),
    )
    return np.array([*(float(hit) for hit in hits.values()), *derived])


def _found(name: str, pattern: re.Pattern[str], text: str, folded: str) -> bool:
    return bool(pattern.search(text.strip() if name in _CASED else folded))
