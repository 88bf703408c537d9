"""What a sentence is searched for once a cue has found something in it: what firms it up or takes it back."""

import re

FIRM_OPENING = re.compile(
    r"\W{0,4}(?:(?:ok|okay|thanks|thank you|good|great|nice)[,.;! ]+){0,2}(?:will queue|queued|applied|"
    r"let's merge|will apply|will merge|merged|pushed)\b"
)
TAKEN_AT_ONCE = re.compile(
    r"\W{0,4}(?:(?:ok(?:ay)?|sure|yes|yeah|great|cool|good|thanks|thank you|(?:hearing|seeing|with) no "
    r"(?:objections?|complaints?))(?: all| both| you all| everyone)?[,.;:! -]+){0,3}"
    r"(?:so )?(?:i(?:'ve| have)? )?(?:(?:now|just|already|gone ahead and) )?"
    r"(?:(?:both|all|the|your|this)? ?(?:patch(?:es)?|series|v\d{1,2}) )?"
    r"(?:is |are |has been |have been )?(?:now )?(?:applied|queued|merged|pushed|pulled|committed)"
    r"(?:[.,!;]|$| (?:to|in|as|for|this|it|them|both|all|thanks|now)\b)"
)
ACK_LATER = re.compile(
    r"\b(?:once|when|after|until|provided|assuming|with|only|but|as soon as|whether|mistake|remove\w*|"
    r"drop\w*)\b"
)
"""An ack that is yet to be given, or is taken back."""
FIRM_NO = re.compile(
    r"^\W{0,4}(?:(?:sorry|strong|big|definite|my|a)[, ]+){0,2}(?:-\s?1\b(?!\d|\.\d)|nak\b|nack\b|veto\b)|"
    r"\bi(?:'m| am) (?:an? )?(?:strong(?:ly)? |definite(?:ly)? )?-\s?1\b|"
    r"^\W{0,4}(?:please (?:don't|do not))[.! ]*$|"
    r"\bnot (?:\w+ )?in favou?r of (?:this|that|it|adopt\w*|publi\w*|the (?:draft|document|"
    r"proposal|patch))\b|"
    r"\bshould(?:n't| not)? (?:\w+ly )?(?:adopt|publish|merge|accept) (?:this|it|that|the)\b|"
    r"\b(?:object to|oppose|opposed to|against|support|"
    r"disagree with) "
    r"(?:this|that|it|adopt\w*|publi\w*|releas\w*|(?:the|your) (?:\w+ )?(?:proposal|patch|series|change|"
    r"draft|document|adoption|release|idea|plan))\b"
    r"|\bshould (?:be |not be )?(?:adopted|published|merged|accepted)\b|\brather not (?:merge|adopt|"
    r"take|apply|add)\b"
)
OBJECTS_TO_DOING = re.compile(
    r"\b(?:i|we)(?:'m|'re| am| are)? (?:(?!not )\w+ )?(?:object to|oppose|against|opposed to) \w+ing\b"
)
NO_WHEN_ASKED = re.compile(
    r"^\W{0,4}(?:i |we )?(?:(?:strongly|firmly|also) )?(?:oppose|object|not support)"
    r"(?:,? (?:too|as well|also))?(?:[.!;:, ]*$|[;:,] )|"
    r"^\W{0,4}(?:i am |i'm |we are |we're |i remain |we remain )?(?:(?:still|also|strongly|firmly) )?opposed"
    r"(?:,? (?:too|as well|also))?(?:[.! ]*$|[;:] )|"
    r"\bready (?:for|to be) (?:adopt\w+|publi\w+)\b|^\W{0,4}not (?:yet )?ready(?:[.! ]*$|[,;:] )|"
    r"\b(?:don't|do not) (?:think|believe) (?:that )?(?:this|it|the (?:draft|document|text))(?: is|'s) "
    r"(?:yet )?ready[.! ]*$|"
    r"^\W{0,4}(?:it|this|the (?:draft|document|text)) (?:is not|isn't) (?:yet )?ready"
    r"(?: yet)?(?:[.! ]*$|[;:] )"
)
"""Plain words of those whom the group's call asks."""
OBJECTS = re.compile(
    r"\b(?:i|we) (?:\w+ )?(?:object|oppose|(?:don't|do not|cannot|can't) "
    r"(?:\w+ )?(?:support|think|believe))\b|"
    r"\b(?:i|we)(?:'m| am|'re| are| remain) (?:\w+ )?(?:opposed|against)\b|\bready\b"
)
"""A no in the writer's own name: to a call it is one also where it is of the text as it stands."""
SO_FAR = re.compile(
    r"\b(?:yet|as[- ]is|as it (?:is|stands)|(?:(?:its|the|this) )?(?:current|present) (?:form|state)|now|"
    r"at this (?:time|point|stage))\b"
)
ALSO = re.compile(r"\b(?:as well|too|also)\b")
"""Said after another who said the same."""
_OF_IT = (
    r"(?:this|that|it|(?:this|the|your) (?:\w+ )?(?:proposal|idea|plan|change|suggestion|approach|solution))"
)
SOFT_NO = re.compile(
    rf"\b{_OF_IT}(?:'s| is| seems| looks| sounds| would be)(?: like)? (?:an? |just a |simply a )?(?:very |"
    rf"really |pretty )?"
    r"(?:bad|terrible|horrible|awful) (?:idea|plan|change|approach|mechanism|solution)\b|"
    rf"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?{_OF_IT}(?:'s| is| would be) (?:an? |the |"
    rf"such a )?"
    r"(?:very )?(?:(?:good|great|right|appropriate|best) (?:idea|approach|way|thing|solution|direction|"
    r"requirement)(?! to\b)|"
    r"(?:appropriate|desirable|wise|sensible|reasonable|acceptable|worthwhile|workable|reliable|worth (?:it|"
    r"doing))\b)|"
    rf"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?(?:we|{_OF_IT}) (?:should(?! not)|"
    rf"ought to) (?:be )?"
    r"(?:adopt|publish|merg|add|accept|do(?:ne)?|set|chang|remov)(?:ed|d|e|ing)? ?(?:this|that|it|the|here|"
    r"[.!,;:]|$)|"
    r"\bi (?:really |strongly )?(?:dislike|(?:don't|do not) (?:really )?like) (?:this|the|your) (?:\w+ )?"
    r"(?:proposal|idea|plan|suggestion|approach|change)\b(?! of\b)|"
    r"\bplease (?:don't|do not) do (?:this|that)\b|"
    r"\bi(?:'d| would) (?:really |much |strongly )?rather (?:we )?(?:not|didn't) (?:do|have|see|add|change|"
    r"take|go)\b|"
    r"\bi(?:'d| would)? (?:\w+ly )?(?:have to |must )?(?:disagree|(?:don't|"
    r"do not) agree) with (?:this(?: \w+)?[.,;:!]|this$|"
    r"(?:the|your|this) (?:\w+ )?(?:proposal|idea|plan|suggestion|change|approach))"
)
"""Plain words against it, that are of it only where they answer the words that put it."""
IF = re.compile(r"\b(?:if|unless)\b")
REASON = re.compile(r"[:;] |,? (?:because|since) ")
NOT_AS_IT_IS = re.compile(
    r"\b(?:if|unless|until|before|without|yet|as[- ]is|as it (?:is|stands)|(?:its|the) (?:current|"
    r"present) form|now|"
    r"at this (?:time|point|stage))\b"
)
"""Against it so far, or so: that may change."""
IN_A_PRODUCT = re.compile(
    r"\b(?:in|on|with|by|since) (?:our|my|the|its|their|this|version) (?:\w+ )?(?:product|"
    r"implementation|stack|code|"
    r"library|server|client|device|release|version|\d)\w*|\b(?:already|currently|natively) support"
)
"""What somebody's software supports."""
AGREES_WITH = re.compile(r"\b(?:agree|concur) with ([A-Z][\w-]+)\b")
OF_WHAT = re.compile(
    r"\b(?:supports?|supporting|endorse|favou?r(?: of)?|agree (?:with|to)|object to|oppose|"
    r"opposed to|against) ((?:the|this|a|an|its|your|such|proposed|complete|full) ){0,3}(\w+)"
)
"""The first word of what a stance is of."""
ITSELF = frozenset(
    {"this", "that", "it", "these", "call", "proposal", "change", "changes", "idea", "plan", "draft"}
    | {"document", "text", "approach", "suggestion"}
)
"""Words by which a proposition is named, and nothing in it."""
UNDOES = re.compile(
    r"\b(?:remov\w+|drop|drops|dropping|renam\w+|replac\w+|deprecat\w+|delet\w+|retir\w+|chang\w+|"
    r"switch\w*|get rid of|disabl\w+|mov(?:e|es|ing)|instead)\b"
)
"""What is proposed takes away or changes what is there."""
KEEPS_WHAT = re.compile(r"\b(?:keep|retain|leav)(?:e|ing)? (?:(?:the|this|it|only) ){0,2}(\w+)")
CONDITIONAL_CONSENT = re.compile(r",? (?:as long as|provided(?: that)?|so long as) ")
SUPPORTS_DOING = re.compile(r"\bi(?:'d| would)? (?:\w+ ){0,2}(?:support|endorse|favou?r) \w+ing\b")
AGREES_TO_DO = re.compile(
    r"\b(?:agree|agreed|concur),? (?:that )?(?:we|it|this|that|they) (?:should(?! not)|ought to|need to|"
    r"makes sense)\b|"
    r"\+ ?1 (?:for|on|to) (?:\w+ing|having)\b"
)
TURNS = re.compile(r"n't\b|\b(?:not|never|no longer|nobody|nor)\b")
DEMANDS = re.compile(
    r"\b(?:break|breaks|broken|missing|wrong|must|fails?|bugs?|crash\w*|incorrect|needs? to|have to|"
    r"please (?!let|see|find|feel|note|consider|do\b|go|merge|apply|adopt|accept|add my)\w+)\b"
)
TEST_RUN = re.compile(r"\b(?:and|to|will) (?:test|try|see|report|check)\b")
