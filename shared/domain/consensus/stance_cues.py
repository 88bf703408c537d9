"""Wordings in which people take a stance: they support, approve, agree, object, doubt.

Each family is one kind of speech act. Which of them is a position its place decides (`stance_claims`).
"""

from shared.domain.consensus.cues import LEAD, Cue, Family

_DEGREE = (
    r"(?:(?:really|certainly|also|quite|very much|much|strongly|fully|definitely|completely|generally|"
    r"personally|still|do|totally|wholeheartedly|absolutely|would|can|therefore|too|both|all|hereby|very|"
    r"entirely|"
    r"clearly|obviously|basically|heartily) ){0,2}"
)
_GOOD = (
    r"(?:good|great|fine|ok|okay|reasonable|sane|sensible|nice|excellent|right|correct|perfect|solid|"
    r"straightforward|well|clean|neat|lovely|awesome|fantastic|acceptable|logical|brilliant|wonderful)"
)
WORK = (
    r"(?:patch(?:es|set)?|series|proposals?|plan|text|draft|document|charter|changes?|approach|idea|fix|"
    r"version|"
    r"solution|direction|wording|rewrite|cleanup|refactoring|commit|branch|suggestion|design|spec\w*|"
    r"option \w+|"
    r"round|iteration|topic|update|implementation|concept|feature|release|reroll)"
)
_ACTION = (
    r"(?:adopt\w*|publi\w+|merg\w+|accept\w*|releas\w+|approv\w+|advanc\w+|mov\w+|includ\w+|add\w+|"
    r"remov\w+|dropp\w+|mak\w+|us\w+|hav\w+|go\w+|keep\w+|deprecat\w+|the|this|that|these|it|its|such|your|"
    r"option)"
)

# "I support ..." with whatever object: a stance only where the group was asked.
SUPPORTS_SOMETHING = Cue(
    "support|endorse|favour|favor",
    rf"\b(?:i|we|i'd)(?: would)? {_DEGREE}(?:support|endorse|favou?r) \w",
)
SUPPORTS = Family(
    Cue(
        "support|endorse|favour|favor|second|approve",
        rf"\b(?:i|we|i'd|i'll|my company)(?: would)? {_DEGREE}(?:support|endorse|favou?r|second|approve) "
        rf"{_ACTION}\b",
        LEAD + rf"(?:would |strongly |fully |i )?(?:support(?:ed)?|endorse) {_ACTION}\b",
        LEAD
        + r"(?:yes ?/ ?)?(?:i |we )?(?:(?:strong(?:ly)?|full(?:y)?|my|definite(?:ly)?) ){0,2}support[.!]*$",
    ),
    Cue(
        "favour|favor|all|supportive|support|behind|board",
        rf"\b(?:i am|i'm|we are|we're) {_DEGREE}(?:in favou?r|all for|supportive|in support|behind|on "
        rf"board)\b",
        LEAD + r"(?:strongly |fully |all |very much )?in favou?r[.!]*$",
    ),
    Cue(
        "please",
        r"\bplease (?:do )?(?:adopt|merge|publish|accept|(?:commit|apply|push|land) (?:it|this|that|them|"
        r"these))\b(?! (?:my|our))",
    ),
    Cue(
        "adopt|publish",
        LEAD + r"(?:please )?(?:adopt|publish)(?: it| this)?[.! ]*$",
    ),
    Cue(
        "free",
        r"\bfeel free to (?:merge|commit|push|apply|land|adopt)\b",
    ),
    Cue(
        "let's|lets",
        LEAD + r"let'?s (?:just |definitely |please )?"
        r"(?:do (?:it|this|that)|go (?:with|for) (?:it|this|that)|adopt)\b",
    ),
    Cue(
        "should",
        r"\b(?:i think |yes, |definitely )?(?:we|you|the wg|the group) should (?:definitely |certainly |"
        r"really |absolutely )?(?:do (?:this|it|that)|adopt (?:this|it)|merge (?:this|it)|go (?:ahead|with "
        r"(?:this|it)))\b",
        r"\bshould be (?:adopted|published|merged|accepted|applied)\b",
        r"\b(?:wg|working group|group|community) should (?:\w+ly )?(?:adopt|publish|take on|work on|pursue|"
        r"progress|advance) (?:this|the|it|that)\b",
    ),
    Cue(
        "agree|concur",
        rf"\b(?:i|we) {_DEGREE}(?:agree|concur) (?:with|to|on) (?:adopting|adoption|publishing|publication|"
        rf"merging|the adoption|accepting)\b",
        rf"\b(?:i|we) {_DEGREE}(?:agree|concur) (?:with|to) (?:this|the|your|these) (?:\w+ )?(?:proposed "
        rf")?{WORK}\b",
    ),
    Cue(
        "vote|preference",
        r"\b(?:i|my) (?:would )?(?:vote|preference)(?: would be| is|s)? for "
        r"(?:this|that|it|the|option|adopt\w*|keep\w*|merg\w*)\b",
        r"\b(?:i|we) (?:also |hereby )?vote (?:yes|in favou?r|to (?:adopt|accept|merge|publish|approve|"
        r"release))\b",
    ),
    Cue(
        "ready|shape",
        r"\b(?:believe|think) (?:that )?(?:the|this) (?:draft|document)(?:'s| is) (?:now )?ready[.! ]*$",
        r"\b(?:is|are|be|it's) (?:now |quite |certainly )?(?:ready (?:to be published|"
        r"for publication|to advance|"
        r"for adoption|to be adopted|to go|to progress|to proceed|to move forward|to ship)|in (?:very )?good "
        r"shape)\b",
    ),
    Cue(
        "sign|cosign|cosigned|co",
        r"\b(?:happy|glad|pleased|like) to co-?sign\b|\bco-?sign(?:s|ed|ing)? (?:this|the|it)\b",
    ),
    Cue(
        "merged|adopted|happen|included|land|published|love|welcome",
        r"\bi(?:'d| would) (?:also |really |very much |certainly )?(?:like|love|be happy|be glad) to see "
        r"(?:this|it|that|the \w+) (?:\w+ )?(?:merged|adopted|happen|included|land|published)\b",
        r"\bi(?:'d| would) (?:really |very much |also |certainly )?(?:love|welcome) (?:to (?:have|see) )?"
        r"(?:this|it|that|such an? \w+)(?: (?:too|feature|change|as well|happen|in))?[.!]*$",
    ),
    Cue(
        "count|live",
        r"\bcount me in\b",
        r"\b(?:i|we) (?:can|could) (?:certainly |easily )?live with (?:this|that|it|the)\b",
    ),
    Cue(
        "i'm|we're|am|are",
        rf"\b(?:i'm|i am|we're|we are) {_DEGREE}for (?:it|this|that|adopt\w*|merg\w*|publi\w*|"
        rf"(?:the|your) (?:\w+ )?{WORK})\b",
    ),
    Cue(
        "support|vote|blessing",
        r"\b(?:has|have|you've got|gets?) my (?:full |strong )?(?:support|vote|blessing|ack|\+ ?1)\b",
    ),
    Cue(
        "go|ready|shape",
        r"\b(?:is|are|it's|they're|look|looks) (?:now |all )?(?:good to go|ready to (?:merge|land|be "
        r"merged|go in|"
        r"be applied|be queued))\b",
    ),
    Cue(
        "reviewed|read",
        r"\bi(?: have|'ve)? (?:\w+ )?(?:read|reviewed)\b.{0,80}\band (?:\w+ )?(?:support|(?:think|"
        r"believe) (?:that )?"
        r"it(?: is|'s) (?:ready|good|fine|in good shape))\b",
    ),
)
NO_OBJECTION = Cue(
    "objection|objections|problem|problems|issue|issues|concerns|concern",
    LEAD + r"no objections?\b(?! (?:was|were|has|have|had|heard|raised|by))",
    r"\bi (?:have|see|had) no (?:further |other |more |real |strong )?(?:objections?|problems?|issues?|"
    r"concerns?) (?:with|to|here|from|about|against)\b",
    r"\bi (?:no longer have|don't have|do not have) any (?:objections?|problems?|issues?|concerns?)\b",
)
APPROVES = Family(
    Cue(
        "look|looks|looking|looked|sound|sounds|seem|seems",
        LEAD
        + r"(?:(?:that|this|it|all|both|these|they|everything|(?:the|your|this) (?:\w+ ){0,2}\w+)(?: \w+)? )?"
        r"(?:all |actually |also |definitely |overall )?"
        rf"(?:look(?:s|ing)?|sounds?|seems?) (?:very |really |pretty |quite |all |perfectly |like an? |to be "
        rf"an? |eminently )*{_GOOD}\b",
        r"\b(?:looks?|sounds?|seems?) (?:\w+ )?(?:good|fine|ok|okay|great|reasonable|sensible|right|correct|"
        r"sane) to me\b",
        r"\b(?:the rest|everything else|all of (?:this|these|it)|it all)(?: of (?:it|this|the \w+))? "
        r"(?:also |all )?look(?:s|ed)? (?:\w+ )?(?:good|fine|great|ok|okay|reasonable|sensible)\b",
        rf"\b(?:this|that|it|these|they) (?:all |both )?(?:looks?|sounds?|seems?) (?:very |really |pretty |"
        rf"quite |all |perfectly )*{_GOOD}\b",
        LEAD + r"sounds like a plan\b",
    ),
    Cue(
        "lgtm|sgtm|ship|thumbs",
        r"\b(?:lgtm|sgtm)\b",
        r"\bship it\b",
    ),
    Cue(
        "sense|works|suits|work",
        LEAD + r"(?:(?:that|this|it|all of this|(?:the|your|this) \w+) )?(?:all |also |definitely |both )?"
        r"(?:makes? (?:perfect |a lot of |total |complete |much )?sense|works for (?:me|us)|suits me)\b",
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
        rf"sounds like| seems like| looks like| look like| look| to be)+ "
        r"(?:definitely |certainly |clearly |obviously |indeed |such |the )?(?:an? )?(?:very |really |"
        r"pretty |"
        r"quite )?(?:good|great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|"
        r"clear|best|right) (?:\w+ )?"
        r"(?:ideas?|plan|proposal|approach|changes?|improvements?|step|direction|fix|cleanup|feature|"
        r"addition|"
        r"simplification|patch|series|work|starting point|start|solution|compromise|choice|way (?:to "
        r"go|forward)|"
        r"thing to do)\b(?! to\b)",
        r"\bis a (?:very |really )?good (?:starting point|start|basis|step)\b",
    ),
    Cue(
        "promise|merit",
        r"\b(?:has|have) (?:a lot of |great |some |much )?(?:promise|merit)\b",
    ),
    Cue(
        "otherwise|other|apart|aside|besides",
        rf"\b(?:otherwise|other than that|(?:apart|aside) from (?:that|this|these)|besides that),? "
        rf"(?:(?:it|this|all|the \w+(?: \w+)?) )?(?:all )?(?:looks?|seems?|is|lgtm)\b(?: \w+){{0,2}} "
        rf"?(?:{_GOOD}|$)",
    ),
    Cue(
        "good|great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|"
        "clear|best|right|definite|obvious",
        LEAD
        + r"(?:an? )?(?:very |definite |clear )?(?:good|great|excellent|nice|welcome|sensible|definite|clear|"
        r"obvious|worthwhile) (?:idea|plan|proposal|improvement|clean-?up|fix|change|addition|simplification|"
        r"enhancement|patch|series)\b(?! (?:to|would|could|is to|might)\b)",
    ),
    Cue(
        "addresses|addressed|resolves|resolved|covers|covered|fixes|fixed|comments|comment|"
        "concerns|concern|issues|remarks|nits",
        r"\b(?:this|that|it|which|v\d+) (?:\w+ )?(?:addresse[sd]|resolve[sd]|covers|covered|fixe[sd]) "
        r"(?:all (?:of )?)?(?:my|our) (?:\w+ )?(?:comments?|concerns?|issues?|remarks?|feedback|nits|"
        r"discuss)\b",
        r"\bmy (?:\w+ )?(?:comments?|concerns?|issues?|remarks|nits) (?:have been|were|are|has been|is|was) "
        r"(?:all |now |well |fully )?(?:addressed|resolved|taken care of|incorporated)\b",
    ),
    Cue(
        "further|more|other|else",
        LEAD + r"(?:i have |there is )?(?:no|nothing) (?:further|more|other|else) "
        r"(?:comments?|remarks|nits|complaints|to (?:add|say|comment)|from me)\b",
    ),
    Cue(
        "work|job",
        LEAD + r"(?:very )?(?:nice|great|excellent|good) (?:work|job)[.!]*$",
    ),
    Cue(
        "welcome|welcomed",
        rf"\b(?:this|the|your|these) (?:\w+ )?{WORK} (?:is|are) (?:\w+ )?(?:very )?welcomed?\b",
    ),
    Cue(
        "glad|happy|pleased|great|good|nice",
        r"\b(?:glad|happy|pleased|great|good|nice) to see (?:this|these)(?: (?:happen\w*|fixed|merged|"
        r"land\w*|"
        r"addressed|series|patch|moving|in))?[.!,]",
    ),
    Cue(
        "good|right|best|better|sensible|reasonable|correct",
        r"\bi (?:also |still |do |really )?(?:think|believe|feel) (?:that )?(?:this|that|it|the \w+)(?:'s| "
        r"is| are) "
        r"(?:\w+ly )?(?:an? |the )?(?:very |much |really )?(?:good|right|best|better|sensible|reasonable|"
        r"correct) "
        r"(?:thing|way|choice|compromise|move|approach|solution|direction|call)\b",
    ),
    Cue(
        "like|love|liked",
        rf"\bi {_DEGREE}(?:like|love) (?:this|it|the idea|these|your (?:idea|proposal)|(?:the|this) (?:\w+ "
        rf")?{WORK})\b",
        r"\bi (?:really |very much |absolutely |do )?(?:like|love) (?:the|this|your|that) (?:idea|proposal|"
        r"approach|concept|direction|suggestion|plan)\b",
    ),
    Cue(
        "fine|ok|okay|happy|good|comfortable",
        r"\b(?:i'm|i am|we are|we're) (?:\w+ )?(?:fine|ok|okay|happy|good|comfortable) with \w+",
        r"\b(?:fine|ok|okay) (?:by|with) me\b",
        r"\b(?:i'd|i would|we'd) be (?:very |quite |perfectly )?(?:fine|ok|okay|happy) "
        r"with (?:this|that|it)[.!]*$",
    ),
    Cue(
        "good|great|fine|ok|okay|reasonable|sane|sensible|nice|excellent|right|correct|perfect|solid|"
        "straightforward|well|clean|neat|lovely|awesome|fantastic|acceptable|logical|brilliant|wonderful",
        rf"\b(?:this|the|your|these|proposed) (?:\w+ )?{WORK} (?:all |also |\w+ly )?(?:looks?|sounds?|"
        rf"seems?|"
        rf"is|are) "
        rf"(?:an? |very |really |pretty |quite |all |perfectly )*{_GOOD}\b",
    ),
    Cue(
        "go",
        LEAD + r"(?:no objections?(?: here| from me)?[,;:] )?(?:please )?go (?:ahead|for it)\b",
        LEAD + r"(?:good|ready) to go[.!]*$",
    ),
    Cue(
        "correct|right|fine",
        LEAD + r"(?:obviously|clearly|trivially) (?:correct|right|fine)[.!]*$",
    ),
    Cue(
        "done",
        LEAD + r"(?:very )?(?:nicely|well) done\b",
    ),
    Cue(
        "great|awesome|excellent|wonderful|fantastic|useful|helpful|lovely",
        LEAD
        + r"(?:that|this|it) would (?:really |certainly |definitely )?be (?:really |very |so |absolutely )?"
        r"(?:great|awesome|excellent|wonderful|fantastic|useful|helpful|lovely)[.! ]*$",
    ),
    Cue(
        "please",
        LEAD + r"(?:yes,? )?please do[.!]*$|^\W{0,3}(?:yes|yeah|sure),? please[.!]*$",
    ),
    Cue(
        "reasonable|sensible|good|fine|great",
        r"^\W{0,3}(?:so |and |yes, )?i think .{5,150} (?:is|are|sounds?|seems?|looks?) "
        r"(?:actually |really |also |all )?(?:pretty |very |quite |perfectly )?"
        r"(?:reasonable|sensible|good|fine|great)[.!]*$",
    ),
    Cue(
        "direction|worth|improvement|thumbs",
        r"\bstep in the right direction\b|\b(?:definitely|certainly|clearly) (?:worth (?:doing|having)|an "
        r"improvement)\b|\bthumbs up\b",
    ),
)
# "... is a good idea", of whatever: of the proposition only where it speaks of the same things.
GOOD_IDEA = Cue(
    "idea|plan|proposal",
    r"\b(?:is|are|sounds like|seems like) (?:certainly |definitely )?an? (?:very |really )?"
    r"(?:excellent|great|good|nice|wonderful) (?:idea|plan|proposal)\b",
)
# Praise that needs no "to me": it can be about the work as a whole only.
HIGH_PRAISE = Cue(
    "patch|patches|series|version|round|iteration|reroll|draft|document|proposal",
    r"\b(?:this|the|your|these|\w+'s) (?:\w+ )?(?:patch(?:es)?|series|version|round|iteration|reroll|draft|"
    r"document|proposal)(?: itself| now| overall)? "
    rf"(?:all |now |\w+ly )?(?:looks?|seems?|is|are) (?:very |pretty |quite |all )*{_GOOD}\b",
)
# Praise and nothing else: a stance only where it is all that a short mail says.
EXCLAIMS = Cue(
    "awesome|excellent|perfect|great|brilliant|fantastic|wonderful|lovely|super|sweet",
    r"^\W{0,3}(?:yes|yeah|that's|this is|very|looks|sounds)?[ ,]{0,2}(?:just |really |so )?(?:awesome|"
    r"excellent|"
    r"perfect|great|brilliant|fantastic|wonderful|lovely|super|sweet)[\W\d]{0,6}"
    r"(?:d\W{0,3})?(?:(?:many )?(?:thanks|thank you)(?: \w+)?\W{0,4})?$",
)
AGREES = Cue(
    "+1|+ 1|r|agree|agreed|concur|seconded|too|here|ack|acked|support|supported|yes|ditto|\U0001f44d|hear",
    LEAD + r"(?:(?:an?|my|another|also|big|huge|strong|enthusiastic|definite|here's|here is|consider this|"
    r"count me as) ){0,4}\+ ?1(?:0{1,3})?\b(?!\d|\.\d)",
    LEAD + r"(?:\w+ly )?agreed\b",
    LEAD + rf"i (?:can only |'d |100% )?{_DEGREE}(?:agree|concur)\b",
    LEAD + rf"(?:100% )?{_DEGREE}(?:agree|concur|me too|same here|seconded|ack(?:ed)?)\b(?!:)",
    r"\b(?:i'm|i am) (?:an? )?(?:\w+ )?\+ ?1\b",
    r"^\W{0,3}\U0001f44d|^\W{0,3}hear,? hear\b",
    r"^\W{0,3}r\+[\W]{0,3}$",
)
