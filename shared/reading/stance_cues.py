"""Wordings of stances: people support, approve, agree, object or doubt.

Each family is one kind of speech act. Its place in a thread decides whether it is a position (`claims`).
"""

from shared.reading.cues import LEAD, Cue, Family, at_word

_DEGREE = (
    r"(?:(?:really|certainly|also|quite|very much|much|"
    r"strongly|fully|definitely|completely|generally|personally|still|do|totally|wholeheartedly|absolutely|"
    r"would|can|therefore|too|both|all|hereby|very|entirely|clearly|obviously|basically|heartily) ){0,2}"
)
_GOOD = (
    r"(?:good|great|fine|ok|okay|"
    r"reasonable|sane|sensible|nice|excellent|right|correct|perfect|solid|straightforward|well(?! suited)|"
    r"clean|neat|lovely|awesome|fantastic|acceptable|logical|brilliant|wonderful|useful)(?! for some\b)"
)
_THING = (
    r"(?:ideas?|plans?|proposals?|approach|changes?|improvements?|steps?|direction|fix(?:es)?|"
    r"cleanup|feature|addition|patch|series|work|start|solution|compromise|choice|way|thing|move|suggestion|"
    r"option|trade-?off|enhancement|design|concept|basis|topic|path|default|project|goal|set|version|place)"
)
WORK = (
    r"(?:patch(?:es|set)?|series|proposals?|plan|text|draft|document|charter|changes?|approach|"
    r"idea|fix|version|solution|direction|wording|rewrite|cleanup|refactoring|commit|branch|suggestion|"
    r"design|spec\w*|option \w+|round|iteration|topic|update|implementation|concept|feature|release|reroll)"
)
_ACTION = (
    r"(?:adopt\w*|publi\w+|merg\w+|accept\w*|releas\w+|approv\w+|advanc\w+|mov\w+|includ\w+|add\w+|remov\w+|"
    r"dropp\w+|mak\w+|us\w+|hav\w+|go\w+|keep\w+|deprecat\w+|the|this|that|these|it|its|such|your|option)"
)

# "I support ..." with any object: a stance only if the group was asked.
SUPPORTS_SOMETHING = Cue(
    "support|endorse|favour|favor", rf"\b(?:i|we|i'd)(?: would)? {_DEGREE}(?:support|endorse|favou?r) \w"
)
SUPPORTS = Family(
    Cue(
        "sign|cosign|cosigned|co|support|merged|adopted|happen|included|land|published|implemented|added",
        r"\b(?:happy|glad|pleased|like) to co-?sign\b|\bco-?sign(?:s|ed|ing)? (?:this|the|it)\b|"
        r"\b(?:has|have) my (?:full |strong )?support\b|\bi(?:'d| would) (?:like|love|be happy) to see "
        r"(?:this|it|that) (?:merged|adopted|happen|included|land|published|implemented|added)\b",
    ),
    Cue(
        "support|supporting|endorse|favour|favor|second|approve",
        rf"\b(?:i|we|i'd|i'll|my company)"
        rf"(?: would)? {_DEGREE}(?:support|endorse|favou?r|second|approve) {_ACTION}\b",
    ),
    Cue(
        "favour|favor|all|supportive|support|behind|board",
        rf"\b(?:i am|i'm|we are|we're) {_DEGREE}(?:in favou?r|all for|supportive|in support|behind|on "
        r"board)\b",
    ),
    Cue(
        "should",
        r"\b(?:i think |yes, |definitely )?(?:we|you|the wg|the group)"
        r" should (?:definitely |certainly |really |absolutely )?(?:do (?:this|"
        r"it|that)|adopt (?:this|it)|merge (?:this|it)|go (?:ahead|with (?:this|it)))\b",
        r"\bshould be (?:adopted|published|merged|accepted|applied)\b",
    ),
    Cue(
        "agree|concur",
        rf"\b(?:i|we)"
        rf" {_DEGREE}(?:agree|concur) (?:with|to) (?:this|the|your|these) (?:\w+ )?(?:proposed )?{WORK}\b",
    ),
    Cue(
        "ready|shape",
        r"\b(?:is|are|be|it's)"
        r" (?:now |quite |certainly )?(?:ready (?:to be published|for publication|to advance|for adoption|"
        r"to be adopted|to go|to progress|to proceed|to move forward|to ship)|in (?:very )?good shape)\b",
    ),
    Cue(
        "go|ready|shape",
        r"\b(?:is|are|it's|they're|look|looks)"
        r" (?:now |all )?(?:good to go|ready to (?:merge|land|be merged|go in|be applied|be queued))\b",
    ),
    Cue(
        "reviewed|read",
        r"\bi(?: have|'ve)? (?:\w+ )?(?:read|reviewed)\b.{0,80}\band "
        r"(?:\w+ )?(?:support|(?:think|believe) (?:that )?it(?: is|'s) (?:ready|good|fine|in good shape))\b",
    ),
)
NO_OBJECTION = Cue(
    "objection|objections|problem|problems|issue|issues|concerns|concern|anything|object",
    LEAD + r"no objections?\b(?! (?:was|were|has|have|had|heard|raised|by))",
    r"\bi (?:no longer have|don't have|do not have) any (?:objections?|problems?|issues?|concerns?)\b",
)
APPROVES = Family(
    # Rare idioms of consent, all in one row.
    Cue(
        "ship|ahead|go|ready|count|plan|hear|please|let's|lets|live|for|favour|favor|vote|\U0001f44d",
        LEAD
        + r"(?:no objections?(?: here| from me)?[,;:] )?(?:yes,? |please )?(?:ship it|go (?:ahead|for it)|"
        r"(?:good|ready) to go|count me in|sounds like a plan|hear,? hear|please do|please(?=!)|\U0001f44d|"
        r"let'?s do (?:it|this|that))\b[^a-z]*$|\bship it\b|^\W{0,3}\U0001f44d|\b(?:i|we) (?:can|"
        r"could) (?:easily )?live with (?:this|that|it|the)\b|\b(?:i'm|i am|we're|we are) (?:all )?for (?:it|"
        r"this|that|the|adopt\w*)\b|\bi(?:'d| would) be in favou?r of \w|\bi vote (?:for|to) (?:this|adopt|"
        r"accept|merge|publish|approve|release)",
    ),
    Cue(
        "look|looks|looking|looked|sound|sounds|seem|seems",
        LEAD + r"(?:(?:that|this|it|all|both|these|they|everything|(?:the|"
        r"your|this) (?:\w+ ){0,2}\w+)(?: \w+)? )?(?:all |actually |also |definitely |overall )?(?:look(?:s|"
        r"ing)?|sounds?|seems?) (?:very |really |pretty |quite |all |perfectly |eminently |absolutely |"
        rf"(?:like|to be) an? (?=\w+(?: \w+)? {_THING}\b))*{_GOOD}\b",
        r"\b(?:looks?|sounds?|seems?)"
        r" (?:\w+ )?(?:good|fine|ok|okay|great|reasonable|sensible|right|correct|sane) to me\b",
        r"\b(?:this|that|it|these|they) (?:all |both )?(?:looks?|sounds?|seems?) (?:very |really |pretty |"
        rf"quite |all |perfectly )*{_GOOD}\b",
        LEAD + r"(?:the )?(?:patch(?:es)?|code|series|changes?|text|draft|idea|plan|proposal) (?:all )?"
        rf"(?:looks?|sounds?|seems?) (?:very |really |pretty |quite )?{_GOOD}\b",
        r"\blooked (?:all )?(?:good|fine|great|reasonable|sensible) to me\b",
    ),
    Cue(
        "see|spot|find|notice|found|saw",
        r"\b(?:i|and) "
        r"(?:did not|didn't|do not|don't|could not|couldn't) (?:see|spot|find|notice) any(?:thing)?(?: \w+)? "
        r"(?:problems?|issues?|wrong|objectionable|to (?:comment on|complain about|object to))\b",
    ),
    Cue(
        "reasonable|sensible|acceptable",
        r"\b(?:this|that|it|(?:the|your) (?:\w+ )?(?:proposal|idea|plan|approach|text|wording|"
        r"change|suggestion))(?:'s| is| seems| all seems| looks| sounds) (?:\w+ly )?(?:very |quite |pretty |"
        r"really |entirely )?(?:reasonable|sensible|acceptable)(?: (?:to|for) (?:me|us))?[.!,;:](?: |$)",
    ),
    Cue("lgtm|sgtm|ship|thumbs", r"\b(?:lgtm|sgtm)\b"),
    Cue(
        "sense|works|suits|work",
        LEAD + r"(?:(?:that|this|"
        r"it|all of this|(?:the|your|this) \w+) )?(?:all |also |definitely |both )?(?:makes? (?:perfect |"
        r"a lot of |total |complete |much )?sense|works for (?:me|us)(?! (?:in|on|under)\b)|suits me)\b",
        r"\bwould work (?:well |fine |nicely )?for (?:me|us)\b",
        rf"\b{WORK} makes (?:\w+ )?sense\b",
    ),
    Cue(
        "sense|works|suits|work|looks|look",
        r"\bi think (?:this|that|it|the \w+) (?:all )?(?:makes (?:perfect )?sense|looks? good)\b",
    ),
    Cue(
        "good|great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|"
        "clear|best|right",
        rf"\b(?:this|that|it|these|they|which|(?:this|the|your) (?:\w+ )?{WORK})(?:'s| is| are| does| do| "
        r"sounds like| seems like| looks like| look like| look| to be)+ (?:definitely |certainly |"
        r"clearly |obviously |indeed |such |the )?(?:an? )?(?:very |really |pretty |quite )?(?:good|"
        r"great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|clear|"
        r"best|right) (?:\w+ )?(?:ideas?|plan|proposal|approach|changes?|improvements?|step|direction|fix|"
        r"cleanup|feature|addition|simplification|patch|series|work|starting point|start|solution|compromise|"
        r"choice|way (?:to go|forward)|strategy|option|policy|trade-?off|suggestion|thing to do)\b(?! to\b)",
    ),
    Cue("promise|merit", r"\b(?:has|have) (?:a lot of |great |some |much )?(?:promise|merit)\b"),
    Cue(
        "otherwise|other|apart|aside|besides",
        r"\b(?:otherwise|other than that|(?:apart|aside) from (?:that|this|these)|besides that),? (?:(?:it|"
        rf"this|all|the \w+(?: \w+)?) )?(?:all )?(?:looks?|seems?|is|lgtm)\b(?: \w+){{0,2}} ?(?:{_GOOD}|$)",
    ),
    Cue(
        "good|great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|"
        "clear|best|right|definite|obvious",
        LEAD + r"(?:an? )?(?:very |definite |clear )?(?:good|great|excellent|nice|welcome|"
        r"sensible|definite|clear|obvious|worthwhile) (?:idea|plan|proposal|improvement|clean-?up|fix|"
        r"change|addition|simplification|enhancement|patch|series)\b(?! (?:to|would|could|is to|might)\b)",
    ),
    Cue(
        "welcome|welcomed",
        rf"\b(?:this|the|your|these) (?:\w+ )?{WORK} (?:is|are) (?:\w+ )?(?:very )?welcomed?\b",
    ),
    Cue(
        "glad|happy|pleased|great|good|nice",
        r"\b(?:glad|happy|pleased|great|good|nice) to "
        r"see (?:this|these)(?: (?:happen\w*|fixed|merged|land\w*|addressed|series|patch|moving|in))?[.!,]",
    ),
    Cue(
        "good|right|best|better|sensible|reasonable|correct",
        r"\bi (?:also |still |do |really )?(?:think|believe|feel) (?:that )?(?:this|that|it|the \w+)(?:'s| "
        r"is| are) (?:\w+ly )?(?:an? |the )?(?:very |much |really )?(?:good|right|best|better|sensible|"
        r"reasonable|correct) (?:thing|way|choice|compromise|move|approach|solution|direction|call)\b",
    ),
    Cue(
        "like|love|liked",
        rf"\b(?:i|we) (?!would ){_DEGREE}(?<!would )(?:like|love) (?:this|it|the idea|these|your (?:idea|"
        rf"proposal)|(?:the|this) (?:\w+ )?{WORK})\b",
        r"\bi (?:really |very much |absolutely |do )?(?:like|love)"
        r" (?:the|this|your|that) (?:idea|proposal|approach|concept|direction|suggestion|plan)\b",
    ),
    Cue(
        "fine|ok|okay|happy|good|comfortable",
        r"\b(?:i'm|i am|we are|we're) (?:\w+ )?(?:fine|ok|okay|happy|good|comfortable) with \w+",
        r"\b(?:fine|ok|okay) (?:by|with) me\b",
    ),
    Cue(
        "good|great|fine|ok|okay|reasonable|sane|sensible|nice|excellent|right|correct|perfect|solid|"
        "straightforward|well|clean|neat|lovely|awesome|fantastic|acceptable|logical|brilliant|wonderful",
        rf"\b(?:this|the|your|these|proposed) (?:\w+ )?{WORK} (?:all |also |\w+ly )?(?:looks?|sounds?|seems?|"
        r"is|are) (?:an? |very |really |pretty |quite |all |perfectly |obviously |clearly |trivially |"
        rf"certainly )*{_GOOD}\b",
    ),
    Cue(
        "correct|right|good|fine|thing|fix|sensible|sane",
        r"\b(?:this|that|it)(?: one)?(?: all)?(?:'s| is| seems| looks| sounds| does look| does seem)"
        r"(?: to be)?(?: like)? (?:the )?(?:obviously|clearly|trivially|plainly|definitely|probably)"
        r" (?:the )?(?:correct|right|good|fine|sensible|sane)"
        r"(?: (?:thing to (?:do|be doing)|fix|approach|change|direction))?(?:[.,;!]|$)",
    ),
    Cue(
        "issues|issue|concerns|comments|problems",
        r"\b(?:fixes|addresses|resolves|solves) all (?:of )?(?:the )?(?:issues|concerns|comments|problems)"
        r" (?:that )?i (?:had|raised|have|mentioned)(?:[.!;]| \(|$)",
    ),
    Cue("done", LEAD + r"(?:very )?(?:nicely|well) done\b"),
    Cue(
        "reasonable|sensible|good|fine|great",
        r"^\W{0,3}(?:so |and |yes, )?i think .{5,150} (?:is|are|sounds?|seems?|looks?) (?:actually |really |"
        r"also |all )?(?:pretty |very |quite |perfectly )?(?:reasonable|sensible|good|fine|great)[.!]*$",
    ),
)
_MY_ACK = r"my (?:ack(?:/r-b)?|acked-by|r-?b|reviewed-by)"
# A trailer in words. It holds wherever in a review it is written.
ACKS = Cue(
    "ack|acked|r|reviewed",
    LEAD
    + rf"(?:here(?:'s| is)|this is|consider this|you have|please add) {_MY_ACK}(?:[.,;!]|$| (?:for|to|on) "
    r"(?:this|it|both|all|the (?:\w+ )?(?:patch(?:es)?|series)))",
    rf"\b(?:delighted|happy|glad|pleased) to (?:provide|give|offer|add) (?:you )?{_MY_ACK}\b",
    LEAD + rf"{_MY_ACK}(?: (?:from|for|of|to) (?:\w+ )?(?:version \d+|v\d+|round))? still (?:stands|holds|"
    r"applies)[.! ]*$",
)
# "... is a good idea", of anything: about the proposal only if it mentions the same things.
GOOD_IDEA = Cue(
    "idea|plan|proposal|sense",
    r"(?:\b(?:is|are|sounds like|seems like)|'s) (?:certainly |definitely )?an? "
    r"(?:very |really )?(?:excellent|great|good|nice|wonderful) (?:idea|plan|proposal)\b",
)
# Praise that needs no "to me", because it can only be about the work as a whole.
HIGH_PRAISE = Cue(
    "patch|patches|series|version|round|iteration|reroll|draft|document|proposal",
    r"\b(?:this|the|your|these|\w+'s) (?:\w+ )?(?:patch(?:es)?|"
    r"series|version|round|iteration|reroll|draft|document|proposal)(?: itself| now| overall)? "
    rf"(?:all |now |\w+ly )?(?:looks?|seems?|is|are) (?:very |pretty |quite |all )*{_GOOD}\b",
)
# Praise and nothing else: a stance only if a short mail says nothing else.
EXCLAIMS = Cue(
    "awesome|excellent|perfect|great|brilliant|fantastic|wonderful|lovely|super|sweet",
    r"^\W{0,3}(?:yes|yeah|that's|this is|very|looks|sounds)?[ ,]{0,2}(?:just |"
    r"really |so )?(?:awesome|excellent|perfect|great|brilliant|fantastic|wonderful|lovely|super|sweet)"
    r"[\W\d]{0,6}(?:d\W{0,3})?(?:(?:many )?(?:thanks|thank you)(?: \w+)?\W{0,4})?$",
)
AGREES = Cue(
    "+1|+ 1|r|agree|agreed|concur|seconded|too|here|ack|acked|support|supported|yes|ditto|\U0001f44d|hear",
    LEAD + r"(?:(?:an?|my|another|also|big|huge|strong|"
    r"enthusiastic|definite|here's|here is|consider this|count me as) ){0,4}\+ ?1(?:0{1,3})?\b(?!\d|\.\d)",
    LEAD + r"(?:\w+ly )?agreed\b",
    LEAD + rf"i (?:can only |have to |must |'d |100% )?{_DEGREE}(?:agree|concur)\b",
    LEAD + rf"(?:100% )?{_DEGREE}(?:agree|concur|me too|same here|seconded|ack(?:ed)?)\b(?!:)",
    r"\+ ?1 from (?:me|us|my side)\b",
)
# A plain yes or no is a stance in answer to a proposing question ("Should we drop it?"), not to one of fact.
ASSENTS = Cue(
    "yes|yeah|yep|yup|sure|absolutely|definitely|certainly|course|totally|aye",
    r"^\W{0,4}(?:(?:oh|hell|ah|well|i think|i vote|my vote|vote)[,:]? )?(?:yes|yeah|yep|yup|sure|aye|"
    r"absolutely|definitely|certainly|of course|totally)(?:[,.!]{0,2} (?:absolutely|definitely|"
    r"please(?: do)?|yes|certainly|of course|i think so|i agree|(?:i think )?we should|let's(?: do (?:it|"
    r"that|this))?|from (?:me|us|my side)|do it|go ahead|that(?:'s| would be|'d be) (?:fine|great|good|nice|"
    r"helpful|useful)))*[.! :;)-]{0,8}$",
)
REFUSES = Cue(
    "absolutely|definitely|certainly|way|please|no|not|don't|shouldn't",
    r"^\W{0,4}(?:absolutely not|definitely not|certainly not|"
    r"no way|please,? no|no,? please(?: don't)?|please don't(?: do (?:this|that|it))?|"
    r"(?:no[,.]? )?(?:i (?:don't|do not) think we should|we should(?:n't| not)))[.! ]{0,4}$",
)
# In answer to a call, "No." is a stance, too.
NAYS = Cue(
    "no|nope|nay|none|not|disagree",
    r"^\W{0,4}(?:(?:i vote|my vote|vote)[,:]? )?(?:no|nope|nay|none|not|i (?:strongly )?disagree)"
    r"(?:[,.!]? (?:from (?:me|us|my side)|thanks|here|no))?[.! ]{0,4}$",
)
# A call that asks who is against it. "No." then supports it.
ASKS_WHO_OBJECTS = Cue(
    "objections|objection|object|objects|oppose|opposes|opposed|against|mind|minds|complaints|disagree|disagrees",
    r"\b(?:any|anyone|anybody|is there|are there)(?: \w+){0,4} (?:objections?|objects?|opposes?|opposed|"
    r"against|minds?|complaints|disagrees?)\b|\bobjections\?",
)
# "Ready.", and little else: a stance only if the group was asked whether it is ready.
READY = Cue(
    "ready",
    LEAD + r"(?:(?:it|this|"
    r"the (?:draft|document))(?:'s| is| looks| seems) |looks |seems )?ready(?: to me)?(?:[.,;:!]| with\b|$)",
)


OPPOSES = Cue(
    "disagree|object|oppose|opposed|against|-1|- 1|nak|nack|veto|not|don't|cannot|can't|wouldn't|isn't|"
    "shouldn't|bad|terrible|horrible|awful|dislike",
    r"\b(?:i|we) (?:must |have to |strongly |would |do |also |still |firmly |also have to )?(?:object|oppose)"
    r"(?: to)?\b(?! (?:if|the idea that)|-)",
    r"\b(?:i|we)(?:'m| am|'re| are| remain) (?:(?!not )\w+ )?(?:against|opposed to)"
    r" (?:this|the|it|that|adopt\w*|publi\w*|add\w*|such|any|\w+ing)\b",
    r"\b(?:i|we) (?:hereby )?vote against\b",
    LEAD
    + r"(?:(?:sorry|strong|big|definite|my|a|an?other)[, ]+){0,2}(?:- ?1\b(?!\d|\.\d)|nak\b|nack\b|veto\b)",
    r"\b(?:i'm|i am) (?:an? )?(?:strong(?:ly)? |definite(?:ly)? )?- ?1\b(?!\d|\.\d)",
    LEAD + r"(?:i |we )?(?:(?:strongly|firmly|also) )?(?:oppose|object|not support)[.! ]*$",
    LEAD + r"please (?:don't|do not)[.! ]*$",
    r"\b(?:we|the group|(?:the )?wg|the working group)"
    r" should(?:n't| not) (?:\w+ly )?(?:adopt|publish|merge|accept|do) (?:this|it|that|the)\b",
    r"\b(?:do not|don't) (?:think|believe)"
    r" (?:that )?(?:this|it|the \w+|that)(?: is|'s) (?:yet )?ready(?: (?:for|to)\b|[.,;:!]|$)",
    LEAD + r"not (?:yet )?ready(?:[.,;:!]|$)",
    LEAD + r"(?:it|this|the (?:draft|document|text)) (?:is not|isn't) (?:yet )?ready(?: yet)?(?:[.,;:!]|$)",
    r"\b(?:i|we) (?:do not|don't|cannot|can't|would not|wouldn't)"
    r" (?:\w+ )?support (?:this|the|adopt\w*|publi\w*|it|that|add\w+)\b",
    rf"\bi (?:strongly |totally |completely |really )?disagree with (?:this|the|your) (?:\w+ )?{WORK}\b",
    r"\b(?:do not|don't) think "
    r"(?:that )?(?:this|it|the \w+|we|that) should (?:be )?(?:adopt|publish|merg|add|accept|do this|go)\w*\b",
    r"\b(?:do not|don't) (?:really )?(?:think|believe)"
    r" (?:\w+ ){0,3}(?:is|it's|'s|be) (?:an? |the |such a )?(?:very )?(?:good|great|right|appropriate)"
    r" (?:idea|approach|way|thing|solution|direction|requirement)\b",
    r"\b(?:i|we)(?:'m| am| are|'re) not (?:\w+ )?in favou?r\b",
    r"\b(?:would be|is) a (?:very |really )?(?:bad|terrible|horrible|awful) (?:idea|mechanism|approach)\b",
    r"\bplease (?:don't|do not) (?:do|adopt|merge|add|remove|change|publish)\b",
    r"\bnot ready (?:for|to be) (?:adopt\w+|publi\w+|last call|merg\w+)\b",
    r"\b(?:i'd|i would|we'd|we would) (?:really |much |strongly |very much )?rather "
    r"not (?:\w+ )?(?:this|that|it|have|see|do|merge|add|take|go|adopt|change)\b",
    r"\bi (?:really |strongly )?(?:dislike|(?:don't|do not) (?:really )?like) (?:this|the|your) "
    rf"(?:\w+ )?{WORK}\b",
    r"\bshould not (?:have been |be )(?:adopted|merged|applied|accepted|published)\b",
    LEAD + r"(?:strongly |firmly |totally |i am |i'm )?opposed\b",
    r"\b(?:i|we)(?:'m| am|'re| are| remain) (?:still |also |strongly |firmly |therefore )?opposed\b(?! to\b)",
)
DOUBTS = Cue(
    "unsure|worried|concerned|sceptical|skeptical|wary|nervous|don't|can't|cannot|not|doubt|concern|concerns|"
    "worry|problem|objection|reservations|downside|drawback|misleading|pointless|overkill|wrong|rather|"
    "prefer|shouldn't|disagree|object|hesitant|reluctant|afraid|fear|doesn't|won't|wouldn't|hate|dislike",
    at_word(
        r"(?:i'm|i am|we're|we are) (?:\w+ ){0,2}(?:not sure|unsure|not certain|"
        r"not convinced|worried|concerned|sceptical|skeptical|wary|nervous|hesitant|reluctant|afraid)\b",
        r"(?:i|we) (?:\w+ )?(?:don't|do not|can't|cannot)"
        r" (?:really |quite )?(?:think|believe|see|understand|agree|like|want|buy)\b",
        r"i (?:highly |strongly |really )?(?:doubt|disagree|object|dislike|hate|fear|worry)\b",
        r"my (?:\w+ )?(?:concern|worry|problem|objection)s?\b|"
        r"(?:have|has|had) (?:\w+ ){0,2}(?:concerns?|reservations?|doubts?)\b",
        r"(?<!no )(?<!any )(?:problem|trouble|shortcoming|downside|drawback)s? (?:with|is|of)\b",
        r"(?:misleading|ridiculous|pointless|overkill|wrong (?:way|approach|place|perspective|thing))\b",
        r"(?:i'd|i would) (?:much |strongly )?(?:rather|prefer)\b",
        r"not (?:\w+ )?(?:good|right|"
        r"appropriate|acceptable|desirable|worth|necessary|needed|adequate|comfortable|happy|enough|ready)\b",
        r"should(?:n't| not)\b",
        r"(?:doesn't|does not|do not|don't|won't|wouldn't|will not|would not)"
        r" (?:\w+ )?(?:make sense|work|help|solve|scale|fly|belong)\b",
    ),
)
# Doubts in the writer's own name. "It should not be there" may be what the proposal fixes.
OWN_DOUBTS = Cue(
    "sure|unsure|certain|convinced|worried|concerned|sceptical|skeptical|wary|nervous|don't|can't|cannot|not|"
    "doubt|concern|concerns|reservations|doubts|worry|problem|objection|rather|prefer|disagree|object|hesitant|reluctant|"
    "afraid|fear|hate|dislike|pointless|overkill|ridiculous|wrong",
    r"\b(?:i'm|i am|we're|we are) (?:\w+ ){0,2}(?:not sure|unsure|not certain|not convinced|worried|"
    r"concerned|sceptical|skeptical|wary|nervous|hesitant|reluctant|afraid|not happy|not comfortable)\b",
    r"\b(?:i|we)"
    r" (?:\w+ )?(?:don't|do not|can't|cannot) (?:really |quite )?(?:think|believe|agree|like|want|buy)\b",
    r"\bi (?:highly |strongly |really )?(?:doubt|disagree|object|dislike|hate|fear|worry)\b",
    r"\bmy (?:\w+ )?(?:concern|worry|problem|objection)s?\b|"
    r"\b(?:have|has|had) (?:\w+ ){0,2}(?:concerns?|reservations?|doubts?)\b",
    r"\b(?:ridiculous|pointless|overkill|wrong (?:way|approach|place|perspective|thing))\b",
    r"\b(?:i'd|i would) (?:much |strongly )?(?:rather|prefer)\b",
)
# Plain words of opposition, which count only in answer to the proposing words.
_OF_IT = (
    r"(?:this|that|it|(?:this|the|your) (?:\w+ )?(?:proposal|idea|plan|change|suggestion|approach|solution))"
)
SPEAKS_AGAINST = Cue(
    "think|believe|idea|plan|change|approach|mechanism|solution|disagree|agree|rather|dislike|don't|not",
    rf"\b{_OF_IT}(?:'s| is| seems| looks| sounds| would be)(?: like)? (?:an? |just a |simply a )?(?:very |"
    r"really |pretty )?(?:bad|terrible|horrible|awful) (?:idea|plan|change|approach|mechanism|solution)\b|"
    rf"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?{_OF_IT}(?:'s| is| would be) (?:an? |the |"
    r"such a )?(?:very )?(?:(?:good|great|right|appropriate|best)"
    r" (?:idea|approach|way|thing|solution|direction|requirement)(?! to\b)|(?:appropriate|"
    r"desirable|wise|sensible|reasonable|acceptable|worthwhile|workable|reliable|worth (?:it|doing))\b)|"
    rf"\b(?:don't|do not) (?:really )?(?:think|believe) (?:that )?(?:we|{_OF_IT}) (?:should(?! not)|"
    r"ought to) (?:be )?(?:adopt|publish|merg|add|accept|do(?:ne)?|set|"
    r"chang|remov)(?:ed|d|e|ing)? ?(?:this|that|it|the|here|[.!,;:]|$)|\bi (?:really |strongly )?(?:dislike|"
    r"(?:don't|do not) (?:really )?like) (?:this|the|your) (?:\w+ )?(?:proposal|idea|plan|suggestion|"
    r"approach|change)\b(?! of\b)|\bplease (?:don't|do not) do (?:this|that)\b|\bi(?:'d| would) (?:really |"
    r"much |strongly )?rather (?:we )?(?:not|didn't) (?:do|have|see|add|change|take|go)\b|\bi(?:'d| "
    r"would)? (?:\w+ly )?(?:have to |must )?(?:disagree|(?:don't|do not) agree) with (?:this(?: \w+)?[.,;:!]|"
    r"this$|(?:the|your|this) (?:\w+ )?(?:proposal|idea|plan|suggestion|change|approach))",
)
AGREES_TO_DOING = Cue("agree|concur", rf"\b(?:i|we) {_DEGREE}(?:agree|concur) (?:with|to) \w+ing\b")
# A wish to keep what exists opposes a proposal that removes it.
KEEPS = Cue(
    "keep|keeping|leave|leaving|retain|retaining|like|prefer",
    rf"\b(?:i|we|i'd)(?: would)? {_DEGREE}(?:support|endorse|favou?r|prefer|agree with) "
    r"(?:keep|retain|leav)ing \w",
    LEAD + r"(?:(?:i(?:'d| would)|we) (?:\w+ )?(?:prefer to|like to|rather|should) |i vote to |"
    r"let'?s |please |just )?(?:keep|leave|retain) (?:it|this|that|them|the (?:\w+ )?\w+)(?: (?:as (?:it|"
    r"they) (?:is|are)|as[- ]is|alone|in place|(?:where|the way) (?:it is|they are)|unchanged))?[.! ]*$",
    r"^\W{0,4}i (?:\w+ )?(?:like|love|prefer) (?:it|(?:the|this|our) (?:\w+ ){1,3})"
    r"(?:just |exactly )?(?:as (?:it|they) (?:is|are)|as[- ]is|the way (?:it is|they are))\b",
    r"^\W{0,4}i(?:'d| would)? (?:\w+ )?prefer the (?:current|existing|present) \w+[.! ]*$",
)
