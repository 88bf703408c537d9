"""Wordings, in families. A cue is only a first hint: what a sentence answers and what stands near it decide.

Each family names the words without which none of its patterns can match. A sentence that has none of them is
not searched: most sentences pass all families at the price of a set comparison.
"""

import re

from shared.domain.consensus.own_sentences import OwnSentence


class Cue:
    """A family of wordings, with the words that trigger a search."""

    __slots__ = ("_match", "_search", "_triggers", "pattern")

    def __init__(self, triggers: str, *patterns: str) -> None:
        self._triggers = frozenset(triggers.split("|"))
        self.pattern = "|".join(patterns)
        # What must stand at a sentence's start is tried there once, not at every letter.
        opening = [pattern for pattern in patterns if pattern.startswith("^")]
        anywhere = [pattern for pattern in patterns if not pattern.startswith("^")]
        self._match = re.compile("|".join(opening)).match if opening else None
        self._search = re.compile("|".join(anywhere)).search if anywhere else None

    def search(self, sentence: OwnSentence) -> re.Match[str] | None:
        if self._triggers.isdisjoint(sentence.words):
            return None
        # Several parts of the reader ask the same: the sentence keeps the answer.
        answers = sentence.answers
        if self not in answers:
            answers[self] = self._find(sentence.folded)
        return answers[self]

    def _find(self, folded: str) -> re.Match[str] | None:
        found = self._match(folded) if self._match else None
        return found or (self._search(folded) if self._search else None)

    def finds(self, sentence: OwnSentence) -> bool:
        return self.search(sentence) is not None


# What may stand before the word that counts, at a sentence's start.
_FILLER = (
    r"(?:yes|yeah|yep|yup|ok|okay|well|so|and|also|fwiw|imho|imo|oh|hmm+|thanks|thank you|personally|overall|"
    r"in general|(?:other than|apart from|besides|aside from|beyond) (?:that|this|those)|otherwise|in any "
    r"case|(?:apart|aside) from (?:\w+ ){1,3}nits|ah|sure|right|indeed|great|awesome|cool|hi|hello|"
    r"absolutely|definitely|again|anyway|nice|good|very nice|wow)"
)
LEAD = rf"^\W{{0,4}}(?:{_FILLER}(?: \w+)?[,.:!;-]+ ?|{_FILLER} ){{0,3}}"
_DEGREE = (
    r"(?:(?:really|certainly|also|quite|very much|much|strongly|fully|definitely|completely|generally|"
    r"personally|still|do|totally|wholeheartedly|absolutely|would|can|therefore|too|both|all|hereby|very|"
    r"entirely|"
    r"clearly|obviously|basically|heartily) ){0,2}"
)
_GOOD = (
    r"(?:good|great|fine|ok|okay|reasonable|sane|sensible|nice|excellent|right|correct|perfect|solid|"
    r"straightforward|well)"
)
_WORK = (
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
SUPPORTS = Cue(
    "support|supported|supports|supportive|favour|favor|endorse|adopt|adopting|adoption|adopted|publish|"
    "publishing|publication|"
    "merge|merged|merging|published|applied|accept|accepted|accepting|agree|concur|vote|preference|ready|"
    "shape|sign|cosign|second|"
    "approve|board|count|behind|let's|lets|should|free|happen|included|land|commit|apply|push|all",
    rf"\b(?:i|we|i'd|i'll|my company)(?: would)? {_DEGREE}(?:support|endorse|favou?r|second|approve) "
    rf"{_ACTION}\b",
    rf"\b(?:i am|i'm|we are|we're) {_DEGREE}(?:in favou?r|all for|supportive|in support|behind|on board)\b",
    LEAD + rf"(?:would |strongly |fully |i )?(?:support(?:ed)?|endorse) {_ACTION}\b",
    LEAD + r"(?:i |we )?(?:strongly |fully )?support[.!]*$",
    r"\bplease (?:do )?(?:adopt|merge|publish|accept|(?:commit|apply|push|land) (?:it|this|that|them|"
    r"these))\b(?! (?:my|our))",
    r"\bfeel free to (?:merge|commit|push|apply|land|adopt)\b",
    LEAD + r"let'?s (?:just |definitely |please )?"
    r"(?:do (?:it|this|that)|go (?:with|for) (?:it|this|that)|adopt)\b",
    r"\b(?:i think |yes, |definitely )?(?:we|you|the wg|the group) should (?:definitely |certainly |"
    r"really |absolutely )?(?:do (?:this|it|that)|adopt (?:this|it)|merge (?:this|it)|go (?:ahead|with "
    r"(?:this|it)))\b",
    rf"\b(?:i|we) {_DEGREE}(?:agree|concur) (?:with|to|on) (?:adopting|adoption|publishing|publication|"
    rf"merging|the adoption|accepting)\b",
    rf"\b(?:i|we) {_DEGREE}(?:agree|concur) (?:with|to) (?:this|the|your|these) (?:\w+ )?(?:proposed "
    rf")?{_WORK}\b",
    r"\bshould be (?:adopted|published|merged|accepted|applied)\b",
    r"\b(?:i|my) (?:would )?(?:vote|preference)(?: would be| is|s)? for "
    r"(?:this|that|it|the|option|adopt\w*|keep\w*|merg\w*)\b",
    r"\b(?:is|are|be) (?:now |quite |certainly )?(?:ready (?:to be published|for publication|to advance|"
    r"for adoption|to be adopted|to go|to progress|to proceed|to move forward|to ship)|in (?:very )?good "
    r"shape)\b",
    r"\b(?:happy|glad|pleased|like) to co-?sign\b|\bco-?sign(?:s|ed|ing)? (?:this|the|it)\b",
    r"\bi(?:'d| would) (?:also |really |very much |certainly )?(?:like|love|be happy|be glad) to see "
    r"(?:this|it|that|the \w+) (?:\w+ )?(?:merged|adopted|happen|included|land|published)\b",
    r"\bcount me in\b",
)
NO_OBJECTION = Cue(
    "objection|objections|problem|problems|issue|issues|concerns|concern",
    LEAD + r"no objections?\b(?! (?:was|were|has|have|had|heard|raised|by))",
    r"\bi (?:have|see|had) no (?:further |other |more |real |strong )?(?:objections?|problems?|issues?|"
    r"concerns?) (?:with|to|here|from|about|against)\b",
    r"\bi (?:no longer have|don't have|do not have) any (?:objections?|problems?|issues?|concerns?)\b",
)
APPROVES = Cue(
    "look|looks|looking|sound|sounds|seem|seems|lgtm|sgtm|sense|works|suits|idea|plan|proposal|approach|"
    "like|love|liked|fine|ok|"
    "okay|happy|go|nicely|good|great|ship|improvement|welcome|right|promise|merit|looked|useful|"
    "reasonable|excellent|nice|sensible|valuable|wonderful|best|please|direction|worth|thumbs|awesome|"
    "fantastic|helpful|lovely",
    LEAD
    + r"(?:(?:that|this|it|all|both|these|they|everything|(?:the|your|this) (?:\w+ ){0,2}\w+)(?: \w+)? )?"
    r"(?:all |actually |also |definitely |overall )?"
    rf"(?:look(?:s|ing)?|sounds?|seems?) (?:very |really |pretty |quite |all |perfectly |like an? |to be "
    rf"an? |eminently )*{_GOOD}\b",
    r"\b(?:lgtm|sgtm)\b",
    r"\b(?:looks?|sounds?|seems?) (?:\w+ )?(?:good|fine|ok|okay|great|reasonable|sensible|right|correct|"
    r"sane) to me\b",
    LEAD + r"(?:(?:that|this|it|all of this|(?:the|your|this) \w+) )?(?:all |also |definitely |both )?"
    r"(?:makes? (?:perfect |a lot of |total |complete |much )?sense|works for (?:me|us)|suits me)\b",
    r"\bi think (?:this|that|it|the \w+) (?:all )?(?:makes (?:perfect )?sense|looks? good)\b",
    rf"\b(?:this|that|it|these|they|which|(?:this|the|your) (?:\w+ )?{_WORK})(?:'s| is| are| does| do| "
    rf"sounds like| seems like| looks like| look like| look| to be)+ "
    r"(?:definitely |certainly |clearly |obviously |indeed |such |the )?(?:an? )?(?:very |really |pretty |"
    r"quite )?(?:good|great|excellent|nice|sensible|reasonable|useful|welcome|valuable|worthwhile|fine|"
    r"clear|best|right) (?:\w+ )?"
    r"(?:ideas?|plan|proposal|approach|changes?|improvements?|step|direction|fix|cleanup|feature|addition|"
    r"simplification|patch|series|work|starting point|start|solution)\b",
    r"\b(?:has|have) (?:a lot of |great |some |much )?(?:promise|merit)\b",
    r"\b(?:the rest|everything else|all of (?:this|these|it)|it all) (?:also )?look(?:s|ed) (?:\w+ "
    r")?(?:good|fine|great|ok|reasonable|sensible)\b",
    LEAD + r"(?:good|great|excellent|nice) (?:idea|plan|proposal|improvement|cleanup|fix|change)\b",
    rf"\bi {_DEGREE}(?:like|love) (?:this|it|the idea|these|your (?:idea|proposal)|(?:the|this) (?:\w+ "
    rf")?{_WORK})\b",
    r"\b(?:i'm|i am|we are|we're) (?:\w+ )?(?:fine|ok|okay|happy|good|comfortable) with (?:this|that|it|"
    r"the|these)\b",
    rf"\b(?:this|the|your|these|proposed) (?:\w+ )?{_WORK} (?:all |also |\w+ly )?(?:looks?|sounds?|seems?|"
    rf"is|are) "
    rf"(?:an? |very |really |pretty |quite |all |perfectly )*{_GOOD}\b",
    rf"\b(?:this|that|it|these|they) (?:all |both )?(?:looks?|sounds?|seems?) (?:very |really |pretty |"
    rf"quite |all |perfectly )*{_GOOD}\b",
    rf"\b{_WORK} makes (?:\w+ )?sense\b",
    r"\b(?:fine|ok|okay) (?:by|with) me\b",
    LEAD + r"(?:please )?go (?:ahead|for it)\b",
    LEAD + r"sounds like a plan\b",
    LEAD + r"(?:very )?(?:nicely|well) done\b",
    r"\bis a (?:very |really )?good (?:starting point|start|basis|step)\b",
    r"\bship it\b",
    LEAD + r"(?:that|this|it) would (?:really |certainly |definitely )?be (?:really |very |so |absolutely )?"
    r"(?:great|awesome|excellent|wonderful|fantastic|useful|helpful|lovely)[.! ]*$",
    LEAD + r"(?:yes,? )?please do[.!]*$|^\W{0,3}(?:yes|yeah|sure),? please[.!]*$",
    r"^\W{0,3}(?:so |and |yes, )?i think .{5,150} (?:is|are|sounds?|seems?|looks?) "
    r"(?:actually |really |also |all )?(?:pretty |very |quite |perfectly )?"
    r"(?:reasonable|sensible|good|fine|great)[.!]*$",
    r"\bstep in the right direction\b|\b(?:definitely|certainly|clearly) (?:worth (?:doing|having)|an "
    r"improvement)\b|\bthumbs up\b",
    r"\bi (?:really |very much |absolutely |do )?(?:like|love) (?:the|this|your|that) (?:idea|proposal|"
    r"approach|concept|direction|suggestion|plan)\b",
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
    r"\b(?:this|the|your|these) (?:\w+ )?(?:patch(?:es)?|series|version|round|iteration|reroll|draft|"
    r"document|proposal)(?: itself| now| overall)? "
    rf"(?:all |now |\w+ly )?(?:looks?|seems?|is|are) (?:very |pretty |quite |all )*{_GOOD}\b",
)
AGREES = Cue(
    "+1|+ 1|agree|agreed|concur|seconded|too|here|ack|acked|support|supported|yes|ditto",
    LEAD + r"\+ ?1\b(?![\d.])",
    LEAD + r"(?:\w+ly )?agreed\b",
    LEAD + rf"i {_DEGREE}(?:agree|concur)\b",
    LEAD + r"(?:agree|concur|me too|same here|seconded|ack(?:ed)?)\b(?!:)",
    r"\b(?:i'm|i am) (?:a )?\+ ?1\b",
)
OPPOSES = Cue(
    "disagree|object|oppose|opposed|against|-1|- 1|nak|nack|veto|not|don't|cannot|can't|wouldn't|bad|"
    "terrible|horrible|awful",
    r"\b(?:i|we) (?:must |have to |strongly |would |do |also |still |firmly |also have to )?(?:object|"
    r"oppose)(?: to)?\b(?! (?:if|the idea that)|-)",
    r"\b(?:i|we)(?:'m| am|'re| are) (?:\w+ )?(?:against|opposed to) (?:this|the|it|that|adopt\w*|publi\w*|"
    r"add\w*|such|any|mak\w+|us\w+|releas\w+)\b",
    LEAD + r"(?:- ?1\b(?![\d.])|nak\b|nack\b|veto\b)",
    r"\b(?:i|we) (?:do not|don't|cannot|can't|would not|wouldn't) (?:\w+ )?support (?:this|the|adopt\w*|"
    r"publi\w*|it|that|add\w+)\b",
    rf"\bi (?:strongly |totally |completely |really )?disagree with (?:this|the|your) (?:\w+ )?{_WORK}\b",
    r"\b(?:do not|don't) think (?:this|it|the \w+|we|that) should (?:be )?(?:adopt|publish|merg|add|"
    r"accept|do this|go)\w*\b",
    r"\b(?:do not|don't) (?:really )?(?:think|believe) (?:\w+ ){0,3}(?:is|it's|'s|be) (?:an? |the |such a "
    r")?(?:very )?(?:good|great|right|appropriate) (?:idea|approach|way|thing|solution|direction|"
    r"requirement)\b",
    r"\b(?:i|we)(?:'m| am| are|'re) not (?:\w+ )?in favou?r\b",
    r"\b(?:would be|is) a (?:very |really )?(?:bad|terrible|horrible|awful) (?:idea|mechanism|approach)\b",
    r"\bplease (?:don't|do not) (?:do|adopt|merge|add|remove|change|publish)\b",
    r"\bnot ready (?:for|to be) (?:adopt\w+|publi\w+|last call|merg\w+)\b",
)
DOUBTS = Cue(
    "sure|unsure|certain|convinced|worried|concerned|sceptical|skeptical|wary|nervous|don't|can't|cannot|"
    "not|doubt|concern|concerns|"
    "worry|problem|objection|reservations|downside|drawback|misleading|pointless|overkill|wrong|rather|"
    "prefer|shouldn't|disagree|object|hesitant|reluctant|unnecessary|afraid|fear|isn't|doesn't|won't|"
    "wouldn't|breaks|break|hate|dislike|why",
    r"\b(?:i'm|i am|we're|we are) (?:\w+ ){0,2}(?:not sure|unsure|not certain|not convinced|worried|"
    r"concerned|sceptical|skeptical|wary|nervous|hesitant|reluctant|afraid)\b",
    r"\b(?:i|we) (?:\w+ )?(?:don't|do not|can't|cannot) (?:really |quite )?(?:think|believe|see|"
    r"understand|agree|like|want|buy)\b",
    r"\bi (?:highly |strongly |really )?(?:doubt|disagree|object|dislike|hate|fear|worry)\b",
    r"\bmy (?:\w+ )?(?:concern|worry|problem|objection)s?\b|\b(?:have|has|had) (?:\w+ ){0,2}(?:concerns?|"
    r"reservations?|doubts?)\b",
    r"\b(?:problem|trouble|shortcoming|downside|drawback)s? (?:with|is|of)\b",
    r"\b(?:misleading|ridiculous|pointless|overkill|wrong (?:way|approach|place|perspective|thing))\b",
    r"\b(?:i'd|i would) (?:much |strongly )?(?:rather|prefer)\b",
    r"\bnot (?:\w+ )?(?:good|right|appropriate|acceptable|desirable|worth|necessary|needed|adequate|"
    r"comfortable|happy|enough|ready)\b",
    r"\bshould(?:n't| not)\b",
    r"\b(?:doesn't|does not|do not|don't|won't|wouldn't|will not|would not) (?:\w+ )?(?:make sense|work|"
    r"help|solve|scale|fly|belong)\b",
)
ACCEPTS = Cue(
    "queue|queued|queueing|queuing|apply|applied|merge|merged|merging|pull|pulled|commit|committed|pick|picked|"
    "take|pushed|landed|checked|accepted|push|requeue|replace|mark",
    r"\b(?:will|let me|i'll|we'll|going to|shall|i'm going to) (?:\w+ ){0,3}(?:queue|apply|merge|merging|"
    r"queue?ing|pull|push|commit (?:this|it|them|these)|pick (?:this|these|it|them|up)|"
    r"take (?:it|this|them|these)|"
    r"requeue|replace (?:it|this|them|what)|mark (?:it|this|them) (?:for|to))\b",
    LEAD + r"(?:both |all |now |just |patch |series |have |i've |i have |already |this is |it's |is )?"
    r"(?:queued|applied|merged|pushed|pulled|committed|landed|picked up|checked in|accepted)\b"
    r"(?! (?:from|by|into my|against|an?|some|my|another)\b)",
    r"\blet'?s (?:\w+ ){0,4}(?:queue|queue?ing|merge|merging|apply|applying|take)\b",
    r"^\W{0,4}(?:queue?ing|merging|applying) (?:this|it|these|them|now|to)\b",
    r"\b(?:i've|i have|i|we've|we have|have) (?:\w+ )?(?:queued|applied|merged|pushed|committed|landed|"
    r"checked (?:this|it|them) in|picked (?:this|it|them|these)? ?up)\b(?! (?:an?|some|my|another)\b)",
    r"\bthanks?[,.;!]* (?:will (?:queue|apply|merge|pull)|queued|applied|merged|pulled)\b",
    LEAD + r"(?:your|the|this|these) (?:\w+ )?(?:patch(?:es)?|changes?|branch|pull request|fix|series) "
    r"(?:is|are|was|were|has been|have been) (?:now )?(?:queued|applied|merged|pushed|committed|accepted)\b",
)
REJECTS = Cue(
    "reject|rejected|rejecting|won't|not|drop|dropped|dropping|nak|nack|wontfix|refuse|withdrawn|discard|"
    "stay|no",
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to| have| had)?(?: to)? (?:reject|refuse|not (?:merge|"
    r"apply|take|queue|accept))\w* (?:this|the|it|these|that)\b",
    r"\b(?:i|we) (?:won't|will not|cannot|can't|am not going to|are not going to|do not want to|don't "
    r"want to) (?:\w+ )?(?:merge|apply|take|queue|accept|adopt|add) (?:this|the|it|these|that|any)\b",
    r"\b(?:this|it|patch|series|proposal|request) (?:is|was|has been|will be) (?:hereby )?(?:rejected|not "
    r"accepted|not adopted|dropped|declined)\b",
    r"\bwon'?t (?:fix|be merged|be accepted|be adopted|be applied)\b",
    r"\bdropp(?:ed|ing) (?:this|the|it) (?:\w+ )?(?:topic|series|patch|from)\b",
)
RULES = Cue(
    "declare|declared|consensus|call|adopted|accepted|approved|agreed|publication|vote|closed|concluded|"
    "chairs|decided|resolved|passed|passes|request|shepherd|wg|conclude|decision|resolution",
    r"\b(?:hereby|i|we|chairs) declare\b|\bdeclare (?:\S{1,120} )?(?:a wg|consensus|adopted)\b",
    r"\b(?:i|we|chairs|there) (?:is|see|sees|have|believe|think|judge|conclude|consider|do see|do have|"
    r"believe we have|believe there is|think there is|think we have)(?: that| there is| we have)* (?:\w+ "
    r"){0,3}(?:rough )?consensus\b",
    r"\b(?:rough )?consensus (?:is|was|seems|appears)(?: to be| that| to| for| clear| reached)?\b",
    r"\bcall (?:\w+ ){0,4}(?:is now|has|is|was|now) (?:been )?(?:closed|concluded|ended|complete|over|"
    r"finished)\b",
    r"\b(?:the |this )?(?:document|draft|proposal|item|charter) (?:is|has been|was|are) (?:now |hereby "
    r")?(?:adopted|accepted|approved)\b",
    r"\b(?:it was|was|were|is|are) (?:\w+ )?agreed\b(?: (?:to|that|on|in|by)|[.;]|$)|\bwe (?:have "
    r")?(?:agreed|decided) (?:to|on|that)\b",
    r"\bpublication (?:has been |is |was )?requested\b|\brequest(?:ed|ing)? (?:the )?publication\b",
    r"\b(?:wg|working group|group) (?:has |have )?(?:agreed|adopted|decided|resolved|concluded)\b",
    r"\bvote (?:has |is )?(?:now )?(?:pass(?:es|ed)|fail(?:s|ed)|closed|succe\w+|cancel\w*)\b|\bresult of "
    r"the vote\b",
    r"^\W{0,4}resol(?:ution|ved)\b",
)
SENDS_BACK = Cue(
    "ready|consensus|second|another|new|again|repeat|rerun",
    r"\bnot (?:yet )?ready\b|\b(?:no|lack of) (?:rough )?consensus\b|\b(?:second|another|new|further) (?:wg "
    r"|working group )?(?:last )?call\b|\bcall (?:\w+ ){0,3}again\b|\b(?:repeat|rerun) (?:the|this) ",
)
CLOSES_CALL = Cue(
    "vote|call|wglc|result|cancelled|canceled|cancelling|canceling|cancel|restart|closed|passed|pass|"
    "passes|concluded|consensus",
    r"\bvote (?:has |is )?(?:now )?(?:pass(?:es|ed)|succe\w+)\b|\bthe vote (?:has )?(?:passed|was "
    r"successful)\b",
    r"\b(?:vote|it|call|release)\b.{0,40}\bcancell?ed\b|\bcancell?(?:ing|ed)? (?:this|the|my) (?:vote|"
    r"release|call)\b",
)
CONTRAST = Cue(
    "but|although|though|however|except|unless|modulo|provided|assuming|long|theory|principle|caveat|yet|"
    "only|while|otherwise|until|despite|still|issue|problem",
    r"\b(?:one|an|some|still) (?:\w+ )?(?:issues?|problems?)\b|\b(?:but|although|though|however|unless|"
    r"provided|assuming|as long as|except|in theory|in principle|modulo|with the caveat|until(?! \d)|"
    r"despite)\b|"
    r", (?:yet|while)\b|\bonly (?:if|when|question|concern|thing)\b",
)
CONDITION = Cue(
    "if|once|unless|provided|assuming|would|needs|need|should|when|could|wish|may|might",
    r"\b(?:if|once|unless|provided|assuming|wish)\b|\b(?:i|we) (?:may|might|could)\b|\bwould be (?:\w+ "
    r")?(?:good|nice|better|great|useful|fine|ok) (?:if|to)\b|\bshould be\b(?! (?:adopted|published|"
    r"merged|accepted|applied))|\bneeds? to\b|\bwould (?:make|look|sound|seem)\b",
)
BUT_NEXT = Cue(
    "but|however|said|unfortunately|hand|still|only|except|although|though|nit|question|concern|thing|"
    "remark|yet|nonetheless|nevertheless|problem",
    r"^\W{0,4}(?:but|however|that said|having said that|unfortunately|on the other hand|still,|only|except|"
    r"although|though|yet|nonetheless|nevertheless|"
    r"(?:my|one|the) (?:only |main |small |minor |other )*(?:question|concern|thing|problem))\b",
)
NEGATION = Cue(
    "not|no|never|nothing|without|cannot|nor|hardly|doubt|doubtful|unlikely|wonder|neither|none|don't|"
    "doesn't|isn't|can't|won't|"
    "wouldn't|didn't|aren't|shouldn't|wasn't|couldn't|haven't|hasn't|weren't|barely|nobody",
    r"n't\b|\b(?:not|no longer|never|nothing|without|cannot|nor|hardly|doubt(?:ful)?|unlikely|wonder|"
    r"neither|none|barely|nobody|no)\b",
)
REPORTED = Cue(
    "he|she|they|people|everyone|somebody|someone|others|said|says|agrees|supports|thought|claimed|told|"
    "mentioned|according|argued|suggested|you",
    r"\b(?:he|she|they|people|everyone|everybody|somebody|someone|others|folks|users|\w+ (?:has|have)) "
    r"(?:\w+ )?(?:agrees?|supports?|says?|said|thinks?|thought|claims?|wants?|likes?|objects?|seems? to)\b|"
    r"\b(?:said|says|told (?:me|us)|mentioned|claimed|argued) that\b|\baccording to\b|\byou (?:said|say|"
    r"wrote|mentioned|claim|agree|support)\b",
)
PROMISES = Cue(
    "i'll|will|we'll|shall|going|fixed|changed|updated|removed|reworded|corrected|modified|dropped|"
    "clarified|replaced|added|pushed|done|"
    "submitted|next|reroll|re|roll|local|working|incorporated|addressed|filed|worth|catch|point|copy|"
    "version|revision|draft|iteration",
    r"\b(?:i|we)(?:'ll| will| shall|'m going to| am going to| are going to) (?:(?:also|then|now|just|"
    r"certainly|definitely|make sure to|try to|go ahead and|of course) )?"
    r"(?:fix|change|update|reroll|re-roll|reword|rephrase|rewrite|edit|remove|drop|include|correct|"
    r"clarify|adjust|modify|incorporate|address|revise|switch|replace|move|add|do|make|send|resend|submit|"
    r"put|post|squash|amend|tweak|improve|use|take)\b",
    LEAD + r"will (?:fix|do|change|update|add|reroll|re-roll|modify|send|reword|drop|remove|squash|amend|"
    r"adjust)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:now |just |also |already )?(?:fixed|changed|updated|removed|reworded|"
    r"corrected|modified|dropped|clarified|replaced|added|incorporated|addressed|submitted|filed)\b",
    LEAD + r"(?:done|fixed|added|changed|updated|corrected|easily done|removed|"
    r"good (?:catch|point), (?:will|fixed))\b[^,]{0,40}$",
    r"\b(?:in|for|with) (?:the|my|our) (?:next|updated|new|upcoming) (?:version|revision|draft|reroll|"
    r"iteration)\b",
    r"\b(?:editor'?s|local|working) (?:copy|version)\b|\bworth a re-?roll\b",
)
WITHDRAWS = Cue(
    "drop|withdraw|withdrawn|withdrawing|retract|abandon|discard|scrap|nevermind|mind|dropping",
    r"\b(?:drop|withdraw|withdrawing|retract|abandon|discard|scrap|dropping) (?:my|this|the|that) (?:\w+ "
    r")?(?:patch|proposal|idea|series|request|objection|-1|vote|concern|veto|discuss)\b",
    r"\bnever ?mind\b|\bwithdrawn\b|\bi withdraw\b",
)
SOLVED = Cue(
    "worked|works|solved|helped|trick|resolved|fixed|thanks|thank|thx|mistake|bad|fault|understand|"
    "explains|answers|clears|clear|did|bug|sense|ok|see|perfect|great",
    r"\b(?:that|this|it) (?:worked|works now|fixed it|solved|helped|helps|did the trick|did it|fixes it|"
    r"fixed the)\b",
    r"\b(?:problem|issue|it)(?:'s| is| was)? (?:now )?(?:solved|resolved|fixed)\b",
    r"\b(?:was|is) a bug in my\b|\bmy (?:mistake|bad|fault|own mistake)\b|\bnow i (?:understand|see)\b|"
    r"\bthat (?:explains|answers|clears|makes sense)\b",
    r"\b(?:thanks|thank you|thx)(?: (?:very|so) much| a lot| \w+)?,? (?:\w+ )?for (?:the|your|all the|all "
    r"your) (?:\w+ )?(?:help|explanation|answers?|info\w*|pointers?|clarif\w+|tips?|repl\w+|response|"
    r"suggestions?|advice|links?|hints?)\b",
)
THANKS = Cue("thanks|thank|thx", r"\bthank|\bthx\b")
ASKS_GROUP = Cue(
    "call|wglc|lc|adopt|adoption|please|objections|objection|poll|vote|votes|object|speak|consensus|feel|"
    "respond|second|seconder|done|support|shout",
    r"\b(?:starts?|begins?|initiates?|issu\w+|this is|opens?|announc\w+|starting|opening) (?:\S+ "
    r"){0,6}(?:last call|wglc|call for adoption|adoption call|consensus call|call for consensus|poll)\b",
    r"\b(?:wg|working group) ?last call (?:for|on) (?:the )?\W{0,3}(?:draft|document|\w+)",
    r"\bcall for (?:wg |working group )?(?:adoption|consensus|votes?)\b",
    r"\bplease (?:\w+ ){0,3}(?:indicate|state|respond|reply|vote|voice|express|provide your views?|let "
    r"(?:us|me|the chairs|the list) know|send|speak|say)\b.{0,90}\b(?:support|agree|adopt\w*|object|"
    r"objections?|in favou?r|against|keep|oppose)\b",
    r"\bplease (?:indicate|state) (?:if|whether|your|so)\b|\bplease provide your views?\b|\bplease vote\b",
    r"\bwould like to adopt\b|\bpropose (?:to adopt|adoption|adopting)\b",
    r"^\W{0,4}(?:are there )?any objections?\b",
    r"\b(?:straw|quaker|consensus) poll\b",
    r"\b(?:speak up|shout|object|yell) (?:now|by|before)\b",
    r"\b(?:who|anyone|someone|somebody)\b.{0,40}\bsecond (?:this|it|the|mng|\S+-\d+)",
    r"\bwhether (?:they|you|people|others|the group|the wg) (?:would )?(?:support|agree|object)\b",
    r"\bvote (?:open|is open|will be open|runs?|ends?)\b",
)
PROPOSES = Cue(
    "propose|suggest|request|like|about|think|nice|good|useful|great|better|perhaps|maybe|should|could|"
    "can|feature|proposal|proposed|feedback|thoughts|comments|wonder|wondering|love|rfc|suggestion|"
    "proposing|considering",
    r"\bi(?:'d| would)? (?:like to )?(?:propose|suggest|request)\b(?! (?:you|that you|taking|reading|"
    r"looking|trying|using))",
    r"\bi(?:'d| would) (?:like|love) to (?:add|see|have|change|remove|propose)\b",
    r"\bhow about\b|\bwhat do you (?:all )?think\b|\bit would be (?:nice|good|useful|great|better)\b",
    r"\b(?:i think|perhaps|maybe) (?:we|it|this|that) (?:\w+ )?(?:should|could|needs?|ought)\b|\bshould we\b",
    r"\bfeature request\b|\b(?:my|a|this|the) proposal\b|\bproposed (?:change|text)\b|\bproposing\b",
    r"\bfeedback\b|\bthoughts\?|\bcomments? (?:are )?(?:welcome|on|encouraged|appreciated)\b",
    r"\bi(?:'m| am) considering\b",
)
ASKS_HELP = Cue(
    "how|way|possible|anyone|someone|somebody|any|i'm|am|wondering|question|understand|can't|missing|help|"
    "does|do|why|trying",
    r"\b(?:how (?:do|can|to|should|would) (?:i|one|you|we)?|is there (?:a|any|some) way|is it possible|"
    r"does any(?:one|body)|can (?:anyone|anybody|someone|somebody|i)|could (?:anyone|someone|somebody|you)|"
    r"any (?:ideas?|help|hints?|suggestions?|pointers?|advice)|i(?:'m| am) (?:just )?(?:trying|wondering|"
    r"having|new|looking|stuck)|i was (?:just )?wondering|has any(?:one|body)|quick question|my question|"
    r"i don't understand|i can't|am i missing|help me|what am i)\b",
)
ANNOUNCES = Cue(
    "announce|announced|announcing|released|release|available|topics|call|pleased|happy|proud|minutes|"
    "agenda|reminder|registration|cooking",
    r"\b(?:pleased|happy|proud|glad|honou?red|delighted|excited|like) to announce\b|\bnew internet-draft "
    r"is available\b|\b(?:was|has been|have been|is) (?:just |now |finally )?released\b|"
    r"\bis now available\b|\bare (?:now )?available (?:at|from)\b|\bhere are the topics\b|\bcall for "
    r"(?:papers|participation|presentations|proposals)\b|\bannouncing\b|\bi(?:'ve| have) (?:just "
    r")?released\b",
)
REPORTS = Cue(
    "bug|bugs|traceback|segfault|segfaults|segmentation|regression|crash|crashes|crashed|broken|fails|"
    "fail|failing|error|errors|erratum|errata|work|reproduce|nits|review|reviewer",
    r"\bbugs?\b|\btraceback\b|\bsegfaults?\b|\bsegmentation fault\b|\bregression\b|\bcrash(?:es|ed)?\b|"
    r"\bdoes(?:n't| not) work\b|\bbroken\b|\bfails? (?:to|with|on)\b|\berrat(?:um|a)\b",
)
OPEN = Cue(
    "still|not|remains|remain|open|todo|tbd|need|should|what|waiting|idea|unclear|unresolved|undecided|"
    "until|wait|later|investigate|follow",
    r"\b(?:still (?:open|unclear|need|not|unsure|to be)|not (?:yet )?(?:clear|decided|resolved|sure)|"
    r"remains? (?:open|to be|unclear)|open (?:issue|question)s?|todo|tbd|need to (?:decide|figure|discuss|"
    r"find)|should we|what about|waiting (?:for|on)|no idea|unclear|unresolved|undecided)\b",
)
TRAILER = re.compile(
    r"\s{0,4}(reviewed|acked|tested|nacked|nak'ed)-by:\s*\"?([^<\"\n]{0,120}?)\"?\s*<([^>\s]{1,200})>",
    re.IGNORECASE,
)
