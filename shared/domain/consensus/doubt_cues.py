"""Wordings of those who object and of those who doubt: the first may be positions, the others are remarks."""

from shared.domain.consensus.cues import LEAD, Cue, at_word
from shared.domain.consensus.stance_cues import WORK

OPPOSES = Cue(
    "disagree|object|oppose|opposed|against|-1|- 1|nak|nack|veto|support|think|believe|favour|favor|please|"
    "ready|like|adopted|merged|applied|accepted|published|bad|terrible|horrible|awful|rather|dislike|adopt|"
    "publish|merge|accept|don't",
    r"\b(?:i|we) (?:must |have to |strongly |would |do |also |still |firmly |also have to )?(?:object|"
    r"oppose)(?: to)?\b(?! (?:if|the idea that)|-)",
    r"\b(?:i|we)(?:'m| am|'re| are| remain) (?:(?!not )\w+ )?(?:against|opposed to) (?:this|the|it|that|"
    r"adopt\w*|publi\w*|add\w*|such|any|\w+ing)\b",
    r"\b(?:i|we) (?:hereby )?vote against\b",
    LEAD
    + r"(?:(?:sorry|strong|big|definite|my|a|an?other)[, ]+){0,2}(?:- ?1\b(?!\d|\.\d)|nak\b|nack\b|veto\b)",
    r"\b(?:i'm|i am) (?:an? )?(?:strong(?:ly)? |definite(?:ly)? )?- ?1\b(?!\d|\.\d)",
    LEAD + r"(?:i |we )?(?:(?:strongly|firmly|also) )?(?:oppose|object|not support)[.! ]*$",
    LEAD + r"please (?:don't|do not)[.! ]*$",
    r"\b(?:we|the group|(?:the )?wg|the working group) should(?:n't| not) (?:\w+ly )?(?:adopt|"
    r"publish|merge|accept|do) "
    r"(?:this|it|that|the)\b",
    r"\b(?:do not|don't) (?:think|believe) (?:that )?(?:this|it|the \w+|that)(?: is|'s) "
    r"(?:yet )?ready(?: (?:for|to)\b|[.,;:!]|$)",
    LEAD + r"not (?:yet )?ready(?:[.,;:!]|$)",
    LEAD + r"(?:it|this|the (?:draft|document|text)) (?:is not|isn't) (?:yet )?ready(?: yet)?(?:[.,;:!]|$)",
    r"\b(?:i|we) (?:do not|don't|cannot|can't|would not|wouldn't) (?:\w+ )?support (?:this|the|adopt\w*|"
    r"publi\w*|it|that|add\w+)\b",
    rf"\bi (?:strongly |totally |completely |really )?disagree with (?:this|the|your) (?:\w+ )?{WORK}\b",
    r"\b(?:do not|don't) think (?:that )?(?:this|it|the \w+|we|that) should (?:be )?(?:adopt|"
    r"publish|merg|add|"
    r"accept|do this|go)\w*\b",
    r"\b(?:do not|don't) (?:really )?(?:think|believe) (?:\w+ ){0,3}(?:is|it's|'s|be) (?:an? |the |such a "
    r")?(?:very )?(?:good|great|right|appropriate) (?:idea|approach|way|thing|solution|direction|"
    r"requirement)\b",
    r"\b(?:i|we)(?:'m| am| are|'re) not (?:\w+ )?in favou?r\b",
    r"\b(?:would be|is) a (?:very |really )?(?:bad|terrible|horrible|awful) (?:idea|mechanism|approach)\b",
    r"\bplease (?:don't|do not) (?:do|adopt|merge|add|remove|change|publish)\b",
    r"\bnot ready (?:for|to be) (?:adopt\w+|publi\w+|last call|merg\w+)\b",
    r"\b(?:i'd|i would|we'd|we would) (?:really |much |strongly |very much )?rather not (?:\w+ "
    r")?(?:this|that|it|"
    r"have|see|do|merge|add|take|go|adopt|change)\b",
    rf"\bi (?:really |strongly )?(?:dislike|(?:don't|do not) (?:really )?like) (?:this|the|your) "
    rf"(?:\w+ )?{WORK}\b",
    r"\bshould not (?:have been |be )(?:adopted|merged|applied|accepted|published)\b",
    LEAD + r"(?:strongly |firmly |totally |i am |i'm )?opposed\b",
    r"\b(?:i|we)(?:'m| am|'re| are| remain) (?:still |also |strongly |firmly |therefore )?opposed\b(?! to\b)",
)
DOUBTS = Cue(
    "sure|unsure|certain|convinced|worried|concerned|sceptical|skeptical|wary|nervous|don't|can't|cannot|"
    "not|doubt|concern|concerns|"
    "worry|problem|objection|reservations|downside|drawback|misleading|pointless|overkill|wrong|rather|"
    "prefer|shouldn't|disagree|object|hesitant|reluctant|unnecessary|afraid|fear|isn't|doesn't|won't|"
    "wouldn't|breaks|break|hate|dislike|why",
    at_word(
        r"(?:i'm|i am|we're|we are) (?:\w+ ){0,2}(?:not sure|unsure|not certain|not convinced|worried|"
        r"concerned|sceptical|skeptical|wary|nervous|hesitant|reluctant|afraid)\b",
        r"(?:i|we) (?:\w+ )?(?:don't|do not|can't|cannot) (?:really |quite )?(?:think|believe|see|"
        r"understand|agree|like|want|buy)\b",
        r"i (?:highly |strongly |really )?(?:doubt|disagree|object|dislike|hate|fear|worry)\b",
        r"my (?:\w+ )?(?:concern|worry|problem|objection)s?\b|(?:have|has|had) (?:\w+ ){0,2}(?:concerns?|"
        r"reservations?|doubts?)\b",
        r"(?<!no )(?<!any )(?:problem|trouble|shortcoming|downside|drawback)s? (?:with|is|of)\b",
        r"(?:misleading|ridiculous|pointless|overkill|wrong (?:way|approach|place|perspective|thing))\b",
        r"(?:i'd|i would) (?:much |strongly )?(?:rather|prefer)\b",
        r"not (?:\w+ )?(?:good|right|appropriate|acceptable|desirable|worth|necessary|needed|adequate|"
        r"comfortable|happy|enough|ready)\b",
        r"should(?:n't| not)\b",
        r"(?:doesn't|does not|do not|don't|won't|wouldn't|will not|would not) (?:\w+ )?(?:make sense|work|"
        r"help|solve|scale|fly|belong)\b",
    ),
)
# What a writer doubts in their own name. "It should not be there" may be what the proposition mends.
OWN_DOUBTS = Cue(
    "sure|unsure|certain|convinced|worried|concerned|sceptical|skeptical|wary|nervous|don't|can't|cannot|not|"
    "doubt|concern|concerns|reservations|doubts|worry|problem|objection|rather|prefer|disagree|object|hesitant|reluctant|"
    "afraid|fear|hate|dislike|pointless|overkill|ridiculous|wrong",
    r"\b(?:i'm|i am|we're|we are) (?:\w+ ){0,2}(?:not sure|unsure|not certain|not convinced|worried|"
    r"concerned|sceptical|skeptical|wary|nervous|hesitant|reluctant|afraid|not happy|not comfortable)\b",
    r"\b(?:i|we) (?:\w+ )?(?:don't|do not|can't|cannot) (?:really |quite )?(?:think|believe|agree|like|want|"
    r"buy)\b",
    r"\bi (?:highly |strongly |really )?(?:doubt|disagree|object|dislike|hate|fear|worry)\b",
    r"\bmy (?:\w+ )?(?:concern|worry|problem|objection)s?\b|\b(?:have|has|had) (?:\w+ ){0,2}(?:concerns?|"
    r"reservations?|doubts?)\b",
    r"\b(?:ridiculous|pointless|overkill|wrong (?:way|approach|place|perspective|thing))\b",
    r"\b(?:i'd|i would) (?:much |strongly )?(?:rather|prefer)\b",
)
# Plain words against what is put, where they answer the very words that put it. Elsewhere they may be of
# anything.
SPEAKS_AGAINST = Cue(
    "think|believe|idea|disagree|agree",
    rf"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?(?:this|that|it|(?:this|the|"
    rf"your) (?:\w+ )?{WORK})(?:'s| is| would be) "
    r"(?:an? |the )?(?:\w+ )?(?:appropriate|desirable|wise|sensible|reasonable|acceptable|worthwhile|"
    r"workable|reliable|worth|good)\b",
    r"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?we (?:should|ought to)\b",
    r"\b(?:looks|seems|sounds) like a (?:very |really )?(?:bad|terrible) idea\b",
    r"\bi(?:'d| would)? (?:\w+ly )?(?:disagree|(?:don't|do not) agree) with (?:this|that)\b",
)
