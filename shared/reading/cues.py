"""Wordings of acts: to accept, rule, promise, ask, thank.

A cue is only a first hint. The mail that a sentence answers and the words near it decide.
"""

import re
from collections import defaultdict
from functools import cached_property
from itertools import chain

from shared.reading.mails import OwnSentence

_NEVER = r"(?!)"


class Cue:
    """Patterns behind trigger words, because most sentences have none of the words.

    Without a pattern, the trigger words themselves are the cue.
    """

    def __init__(self, triggers: str, *patterns: str) -> None:
        self.triggers = frozenset(triggers.split("|"))
        self.patterns = patterns
        self.pattern = "|".join(patterns)

    # Patterns are compiled on first use, because all of them would delay the start of a worker.
    @cached_property
    def _opening(self) -> re.Pattern[str]:
        return re.compile("|".join(pattern for pattern in self.patterns if pattern.startswith("^")) or _NEVER)

    @cached_property
    def anywhere(self) -> re.Pattern[str]:
        return re.compile(
            "|".join(pattern for pattern in self.patterns if not pattern.startswith("^")) or _NEVER
        )

    def search(self, sentence: OwnSentence) -> re.Match[str] | None:
        """Return the first match in the sentence. A match at its start precedes all others."""
        if self.triggers.isdisjoint(sentence.words):
            return None
        # Several parts of the reader ask the same question, so the sentence keeps the answer.
        if self not in sentence.found:
            folded = sentence.folded
            sentence.found[self] = self._opening.match(folded) or self.anywhere.search(folded)
        return sentence.found[self]

    def finds(self, sentence: OwnSentence) -> bool:
        if self.patterns:
            return self.search(sentence) is not None
        return not self.triggers.isdisjoint(sentence.words)


def at_word(*alternatives: str) -> str:
    """Return alternatives that share one word boundary, so that it is searched only once."""
    return "|".join(rf"\b(?:{alternative})" for alternative in alternatives)


class Family:
    """A group of cues, each behind its own triggers. Narrow triggers avoid searches."""

    def __init__(self, *cues: Cue) -> None:
        self.cues = cues
        self._by_trigger: dict[str, list[int]] = defaultdict(list)
        for number, cue in enumerate(cues):
            for word in cue.triggers:
                self._by_trigger[word].append(number)
        self._triggers = frozenset(self._by_trigger)

    def may_find(self, sentence: OwnSentence) -> bool:
        """Return whether a word of the sentence triggers the search for any cue."""
        return not self._triggers.isdisjoint(sentence.words)

    def triggered(self, sentence: OwnSentence) -> list[Cue]:
        """Return the cues that a word of the sentence triggers, in their order."""
        words = self._triggers & sentence.words
        if not words:
            return []
        numbers = set(chain.from_iterable(map(self._by_trigger.__getitem__, words)))
        return [self.cues[number] for number in sorted(numbers)]

    def search(self, sentence: OwnSentence) -> re.Match[str] | None:
        found = (cue.search(sentence) for cue in self.triggered(sentence))
        return next(filter(None, found), None)

    def finds(self, sentence: OwnSentence) -> bool:
        if self not in sentence.found:
            sentence.found[self] = self.search(sentence)
        return sentence.found[self] is not None


# Words that may precede the significant word at the start of a sentence.
_FILLER = (
    r"(?:yes|yeah|"
    r"yep|yup|ok|okay|well|so|and|also|fwiw|imho|imo|oh|hmm+|thanks|thank you|personally|overall|in general|"
    r"(?:other than|apart from|besides|aside from|beyond) (?:that|this|those)|otherwise|in any case|"
    r"(?:apart|aside) from (?:\w+ ){1,3}nits|ah|sure|right|indeed|great|awesome|cool|hi|hello|absolutely|"
    r"definitely|again|anyway|nice|good|very nice|wow|(?:hearing|seeing|with) no (?:objections?|complaints?))"
)
LEAD = rf"^\W{{0,4}}(?:{_FILLER}(?: \w+)?[,.:!;-]+ ?|{_FILLER} ){{0,3}}"
ACCEPTS = Cue(
    "queue|queued|queueing|queuing|apply|applied|merge|merged|merging|pull|pulled|commit|committed|pick|"
    "picked|take|pushed|landed|checked|accepted|push|requeue|replace|mark|committing|applying|pushing|added|"
    "taken|upstream|master|next|main|trunk|mainline|staging|tree",
    r"\b(?:will|let me|i'll|we'll|going to|shall|i'm going to) (?:\w+ ){0,3}(?:queue|"
    r"apply|merge|merging|queue?ing|pull|push|commit (?:this|it|them|these)|pick (?:this|these|it|them|up)|"
    r"take (?:it|this|them|these)|requeue|replace (?:it|this|them|what)|mark (?:it|this|them) (?:for|to))\b",
    LEAD + r"(?:both |all |now |just |(?:the |whole |entire |both |all )*(?:patch(?:es)?|series|patch ?set) |"
    r"have |i've |i have |already |this is |it's |is )?(?:queued|applied|merged|pushed|pulled|committed|"
    r"landed|picked up|checked in|accepted)\b(?! (?:from|by|into my|against|an?|some|my|another)\b)",
    r"\blet'?s (?:\w+ ){0,4}(?:queue|queue?ing|merge|merging|apply|applying|take)\b",
    r"\blet(?:'?s| me) .{0,60}\band "
    r"(?:then )?(?:merge|queue|apply) (?:it|this|them|these|the (?:topic|series|patch\w*|result))\b",
    r"\b(?:i'll|i will|can|will|happy to|be done)"
    r" .{0,80}\b(?:while|when|on|upon) (?:i )?(?:committing|applying|commit|merging|pushing|queue?ing)\b",
    r"\b(?:i've|i have|i|we've|we have|(?<!to )(?<!should )(?<!could )(?<!would )(?<!may )(?<!might )"
    r"(?<!must )have) (?:\w+ |gone ahead and )?(?:queued|applied|merged|pushed|committed|landed|"
    r"checked (?:this|it|them) in|picked (?:this|it|them|these)? ?up)\b(?! (?:an?|some|my|another)\b)",
    LEAD + r"(?:your|the|this|these) (?:\w+ )?(?:patch(?:es)?|changes?|branch|pull request|fix|series)"
    r" (?:is|are|was|were|has been|have been) (?:now )?(?:queued|applied|merged|pushed|committed|accepted)\b",
)
REJECTS = Cue(
    "reject|rejected|rejecting|won't|not|drop|dropped|dropping|nak|nack|wontfix|refuse|withdrawn|discard|"
    "stay|no",
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to| have| had)?(?: to)? "
    r"(?:reject|refuse|not (?:merge|apply|take|queue|accept))\w* (?:this|the|it|these|that)\b",
    r"\b(?:i|we) (?:won't|will not|cannot|can't|am not going to|are not going to|do not want to|"
    r"don't want to) (?:\w+ )?(?:merge|apply|take|queue|accept|adopt|add) (?:this|the|it|these|that|any)\b",
    r"\b(?:this|it|patch|series|proposal|request)"
    r" (?:is|was|has been|will be) (?:hereby )?(?:rejected|not accepted|not adopted|dropped|declined)\b",
    r"\bwon'?t (?:fix|be merged|be accepted|be adopted|be applied)\b",
    r"\bdropp(?:ed|ing) (?:this|the|it) (?:\w+ )?(?:topic|series|patch|from)\b",
)
SENDS_BACK = Cue(
    "ready|consensus|second|another|new|again|repeat|rerun",
    r"\bnot (?:yet )?ready\b|\b(?:no|lack of) (?:rough )?consensus\b|\b(?:second|another|new|further)"
    r" (?:wg |working group )?(?:last )?call\b|\bcall (?:\w+ ){0,3}again\b|\b(?:repeat|rerun) (?:the|this) ",
)
CONTRAST = Cue(
    "but|although|though|however|except|unless|modulo|provided|assuming|long|theory|principle|caveat|yet|"
    "only|while|otherwise|until|despite|still|issue|problem",
    r"\b(?:one|an|some|still) (?:\w+ )?(?:issues?|problems?)\b|\b(?:but|although|though|however|unless|"
    r"provided|assuming|as long as|except|in theory|in principle|modulo|with the caveat|until(?! \d)|despite)"
    r"\b|, (?:yet|while)\b|\bonly (?:if|when|question|concern|thing)\b",
)
CONDITION = Cue(
    "if|once|unless|provided|assuming|would|needs|need|should|when|could|wish|may|might",
    r"\b(?:if|once|unless|provided|assuming|wish)\b|\b(?:i|we) (?:may|might|could)\b|"
    r"\bwould be (?:\w+ )?(?:good|nice|better|great|useful|fine|ok) (?:if|to)\b|\bshould be\b(?! (?:adopted|"
    r"published|merged|accepted|applied))|\bneeds? to\b|\bwould (?:make|look|sound|seem)\b",
)
BUT_NEXT = Cue(
    "but|however|said|unfortunately|hand|still|only|except|although|though|nit|question|concern|thing|"
    "remark|yet|nonetheless|nevertheless|problem",
    r"^\W{0,4}(?:but|however|that said|"
    r"having said that|unfortunately|on the other hand|still,|only|except|although|though|yet|nonetheless|"
    r"nevertheless|(?:my|one|the) (?:only |main |small |minor |other )*(?:question|concern|thing|problem))\b",
)
NEGATION = Cue(
    "not|no|never|nothing|without|cannot|nor|hardly|doubt|doubtful|unlikely|wonder|neither|none|don't|"
    "doesn't|isn't|can't|won't|"
    "wouldn't|didn't|aren't|shouldn't|wasn't|couldn't|haven't|hasn't|weren't|barely|nobody"
)
REPORTED = Cue(
    "he|she|they|people|everyone|somebody|someone|others|said|says|agrees|supports|thought|claimed|told|"
    "mentioned|according|argued|suggested|you",
    r"\b(?:he|she|they|people|everyone|everybody|somebody|someone|others|folks|users|\w+ (?:has|have))"
    r" (?:\w+ )?(?:agrees?|supports?|says?|said|thinks?|thought|claims?|wants?|likes?|objects?|seems? to)\b|"
    r"\b(?:said|says|told (?:me|us)|mentioned|claimed|argued) that\b|"
    r"\baccording to\b|\byou (?:said|say|wrote|mentioned|claim|agree|support)\b",
)
PROMISES = Cue(
    "i'll|will|we'll|shall|going|fixed|changed|updated|removed|reworded|corrected|modified|dropped|"
    "clarified|replaced|added|pushed|done|"
    "submitted|next|reroll|re|roll|local|working|incorporated|addressed|filed|worth|catch|point|copy|"
    "version|revision|draft|iteration|sent|posted|coming|soon|follows|follow|rephrase|respin|resend",
    r"\b(?:i|we)"
    r"(?:'ll| will| shall|'m going to| am going to| are going to) (?:(?:also|then|now|just|certainly|"
    r"definitely|make sure to|try to|go ahead and|of course) )?(?:fix|change|update|reroll|re-roll|reword|"
    r"rephrase|rewrite|edit|remove|drop|include|correct|clarify|adjust|modify|incorporate|address|revise|"
    r"switch|replace|move|add|do|make|send|resend|submit|put|post|squash|amend|tweak|improve|use|take)\b",
    LEAD + r"will "
    r"(?:fix|do|change|update|add|reroll|re-roll|modify|send|reword|drop|remove|squash|amend|adjust)\b",
    r"\b(?:i|we)(?:'ve| have)? (?:now |just |also |already )?(?:fixed|changed|updated|removed|"
    r"reworded|corrected|modified|dropped|clarified|replaced|added|incorporated|addressed|submitted|filed)\b",
    LEAD + r"(?:done|fixed|"
    r"added|changed|updated|corrected|easily done|removed|good (?:catch|point), (?:will|fixed))\b[^,]{0,40}$",
    r"\b(?:in|for|with)"
    r" (?:the|my|our) (?:next|updated|new|upcoming) (?:version|revision|draft|reroll|iteration)\b",
    r"\b(?:editor'?s|local|working) (?:copy|version)\b|\bworth a re-?roll\b",
    r"\b(?:i|we)(?:'ve| have)? (?:just |now |already )?(?:sent|posted) (?:out )?(?:an? |"
    r"the )?(?:v\d|(?:new|updated|next|revised) (?:version|revision|patch|series|patchset))\b",
    r"\bv\d (?:is |will be |has been )?(?:now )?(?:coming|sent|posted|on its way|follows|to follow|soon)\b",
    r"\b(?:will be|is|are|gets) (?:fixed|changed|addressed|updated|corrected|removed|added|done|included)"
    r" in (?:the |my )?(?:next|v\d|new|upcoming)\b",
    r"\blet me (?:rephrase|reword|fix|respin|re-?spin|re-?roll|update|change|correct)\b",
    LEAD
    + r"will (?:rephrase|rework|respin|resend|correct|rename|replace|move|clarify|address|include|split)\b",
)
WITHDRAWS = Cue(
    "drop|withdraw|withdrawn|withdrawing|retract|abandon|discard|scrap|nevermind|mind|dropping",
    r"\b(?:drop|withdraw|withdrawing|retract|abandon|discard|scrap|dropping) (?:my|this|the|that)"
    r" (?:\w+ )?(?:patch|proposal|idea|series|request|objection|-1|vote|concern|veto|discuss)\b",
    r"\bnever ?mind\b|\bwithdrawn\b|\bi withdraw\b",
)
WITHDRAWS_OBJECTION = Cue(
    "withdraw|withdrawing|retract|retracted|drop|dropping|dropped|withdrawn|lift|lifted|lifting|revoke|"
    "revoking|longer|anymore|any",
    r"\bi(?:'ll| will|'d like to| hereby| am|'m| have|'ve)?(?: \w+)? "
    r"(?:drop|dropp?ing|withdraw|withdrawn|withdrawing|retract|lift|lifting|revoke|revoking)"
    r" (?:my|this|the|that) (?:\w+ ){0,2}?(?:objections?|-1|vote|veto|nak|nack|concerns?|discuss)(?:\b|$)",
    r"\bmy (?:\w+ )?(?:objections?|veto|nak|nack|concerns?|discuss|-1)\b.{0,60}\b(?:so|and|thus|therefore|"
    r"hence),? i(?:'ll| will| hereby| now)? (?:withdraw|drop|retract|lift|revoke) (?:it|them|that)\b",
    r"\bmy (?:\w+ )?(?:objections?|veto|nak|nack|discuss|-1)"
    r" (?:is|are) (?:now |hereby |therefore )?(?:withdrawn|lifted|dropped|retracted)\b",
    r"\bi (?:no longer|don't|do not) (?:object|oppose (?:this|it)) any(?:more| more)\b|"
    r"\bi no longer (?:object|oppose)\b",
)
SOLVED = Cue(
    "worked|works|solved|helped|trick|resolved|fixed|thanks|thank|thx|mistake|bad|fault|understand|"
    "explains|answers|clears|clear|did|bug|sense|ok|see|perfect|great",
    r"\b(?:that|this|it)"
    r" (?:worked|works now|fixed it|solved|helped|helps|did the trick|did it|fixes it|fixed the)\b",
    r"\b(?:problem|issue|it)(?:'s| is| was)? (?:now )?(?:solved|resolved|fixed)\b",
    r"\b(?:was|is) a bug in my\b|\bmy (?:mistake|bad|fault|own mistake)\b|"
    r"\bnow i (?:understand|see)\b|\bthat (?:explains|answers|clears|makes sense)\b",
    r"\b(?:thanks|thank you|thx)(?: (?:very|so) much| a lot| \w+)?,? "
    r"(?:\w+ )?for (?:the|your|all the|all your) (?:\w+ )?(?:help|explanation|"
    r"answers?|info\w*|pointers?|clarif\w+|tips?|repl\w+|response|suggestions?|advice|links?|hints?)\b",
)
THANKS = Cue("thanks|thank|thx")
ASKS_GROUP = Cue(
    "call|wglc|lc|adopt|adoption|please|objections|objection|poll|vote|votes|object|speak|consensus|feel|"
    "respond|second|seconder|done|support|shout|voting|ballot|cfc|silence|reply|answer|replying|responding|"
    "objects|oppose|disagree|seconds|sponsors|seconders|dissent|nominate|propose",
    r"\b(?:starts?|begins?|initiates?|issu\w+|this is|opens?|announc\w+|starting|opening) (?:\S+ "
    r"){0,6}(?:last call|wglc|call for adoption|adoption call|consensus call|call for consensus|poll)\b",
    r"\b(?:wg|working group) ?last call (?:for|on) (?:the )?\W{0,3}(?:draft|document|\w+)",
    r"\bcall for (?:wg |working group )?(?:adoption|consensus|votes?)\b",
    r"\bplease (?:\w+ ){0,3}(?:indicate|state|respond|"
    r"reply|vote|voice|express|provide your views?|let (?:us|me|the chairs|the list) know|send|speak|say)"
    r"\b(?! that\b).{0,90}\b(?:support|agree|adopt\w*|object|objections?|in favou?r|against|keep|oppose)\b",
    r"\bplease (?:indicate|state) (?:if|whether|your|so)\b|\bplease provide your views?\b|\bplease vote\b",
    r"\bwould like to adopt\b|\bpropose (?:to adopt|adoption|adopting|(?:that )?we adopt)\b",
    r"^\W{0,4}(?:are there )?any objections?\b",
    r"\b(?:straw|quaker|consensus) poll\b",
    r"\b(?:speak up|shout|object|yell) (?:now|by|before)\b",
    r"\b(?:who|anyone|someone|somebody)\b.{0,40}\bsecond (?:this|it|the|mng|\S+-\d+)",
    r"\bwhether (?:they|you|people|others|the group|the wg) (?:would )?(?:support|agree|object)\b",
    r"\b(?:vote|voting|poll|ballot)(?: period| window)? (?:open|is (?:now )?open|will (?:be|remain|stay|"
    r"close|end|run|last|start)|runs?|ends?|closes?)\b",
    r"\b(?:this|the) (?:\w+ ){0,2}(?:last call|wglc|adoption call|cfc|consensus call|call for \w+)(?: "
    r"period)? (?:starts?|begins?|"
    r"runs?|ends?|closes?|(?:will|shall) (?:start|begin|end|close|run|last|be open))\b",
    r"\b(?:this|is|issue|issuing|issued|start|starting|open|opening) (?:an? |the )?(?:\w+ )?cfc\b",
    r"\bsilence (?:will be|is|shall be|will) (?:taken|considered|assumed|interpreted|treated|deemed|mean|"
    r"imply)\b",
    r"\bplease (?:cast|submit|record|register|send in|send|enter) (?:your )?(?:votes?|ballots?|\+ ?1)\b",
    r"\b(?:reply|respond|vote|answer|replying|responding) (?:to this \w+ )?with (?:an? )?[\"']?[+-] ?1\b",
    r"\b(?:call|calling|start|starting|hold|holding|open|opening|initiate|initiating) (?:for )?(?:an? |"
    r"the )?(?:\w+ )?vote\b"
    r"(?! (?:of|that|which|was|had|passed))|\bput (?:this|it|the \w+) to (?:a |the )?vote\b",
    r"\b(?:does|do|has) any(?:one|body)(?: here| else)? (?:object|oppose|have (?:any )?objections?|"
    r"disagree with (?:this|adopt\w*|publi\w*|remov\w*))\b",
    r"\b(?:looking|asking|ask|seek|seeking|calling|call|look) (?:for )?(?:\w+ )?(?:seconds|sponsors|"
    r"seconders)\b",
    r"\b(?:like|want|need|wish|wanted|order|trying) to (?:gauge|determine|confirm|check|assess|verify|"
    r"establish) (?:\w+ ){0,4}(?:consensus|support)\b",
    r"\blazy consensus\b.{0,60}\b(?:\d+|hours|days|week|until|by|unless|if)\b",
    r"\b(?:if|unless) (?:there are|there is|i|we|any(?:one|body)|no-?one|nobody)(?: do not| don't)?(?: hear|"
    r" see| get| receive)?(?: any| no)? (?:\w+ )?(?:objections?|objects?|dissent)\b.{0,60}\b(?:by|until|"
    r"within|before|in the next)\b",
    r"\b(?:like|want|wish|pleased|happy) to (?:nominate|propose) .{2,60}\b(?:as|to be(?:come)?|for) "
    r"(?:an? |the )?(?:new |next )?"
    r"(?:committer|maintainer|co-?maintainer|reviewer|member|chair|pmc member|release manager)\b",
)
PROPOSES = Cue(
    "propose|suggest|request|like|about|think|nice|good|useful|great|better|perhaps|maybe|should|could|"
    "can|feature|proposal|proposed|feedback|thoughts|comments|wonder|wondering|love|rfc|suggestion|"
    "proposing|considering",
    r"\bi(?:'d| would)? "
    r"(?:like to )?(?:propose|suggest|request)\b(?! (?:you|that you|taking|reading|looking|trying|using))",
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
    r"\b(?:how (?:do|can|to|should|would) (?:i|one|you|we)?|is there (?:a|any|some) way|"
    r"is it possible|does any(?:one|body)|can (?:anyone|anybody|someone|somebody|i)|could (?:anyone|someone|"
    r"somebody|you)|any (?:ideas?|help|hints?|suggestions?|pointers?|advice)|i(?:'m| am) (?:just )?(?:trying|"
    r"wondering|having|new|looking|stuck)|i was (?:just )?wondering|has any(?:one|"
    r"body)|quick question|my question|i don't understand|i can't|am i missing|help me|what am i)\b",
)
ANNOUNCES = Cue(
    "announce|announced|announcing|released|release|available|topics|call|pleased|happy|proud|minutes|"
    "agenda|reminder|registration|cooking",
    r"\b(?:pleased|happy|proud|glad|honou?red|delighted|excited|like) to announce\b|\bnew internet-draft "
    r"is available\b|\b(?:was|has been|have been|is) (?:just |now |finally )?released\b|\bis now available\b|"
    r"\bare (?:now )?available (?:at|from)\b|\bhere are the topics\b|\bcall for (?:papers|"
    r"participation|presentations|proposals)\b|\bannouncing\b|\bi(?:'ve| have) (?:just )?released\b",
)
REPORTS = Cue(
    "bug|bugs|traceback|segfault|segfaults|segmentation|regression|crash|crashes|crashed|broken|fails|"
    "fail|failing|error|errors|erratum|errata|work|reproduce|nits|review|reviewer",
    r"\bbugs?\b|\btraceback\b|\bsegfaults?\b|\bsegmentation fault\b|\bregression\b|"
    r"\bcrash(?:es|ed)?\b|\bdoes(?:n't| not) work\b|\bbroken\b|\bfails? (?:to|with|on)\b|\berrat(?:um|a)\b",
)
OPEN = Cue(
    "still|clear|decided|resolved|sure|remains|remain|open|todo|tbd|need|should|about|waiting|idea|unclear|"
    "unresolved|undecided",
    r"\b(?:still (?:open|unclear|need|not|unsure|to be)|not (?:yet )?(?:clear|decided|"
    r"resolved|sure)|remains? (?:open|to be|unclear)|open (?:issue|question)s?|todo|tbd|need to (?:decide|"
    r"figure|discuss|find)|should we|what about|waiting (?:for|on)|no idea|unclear|unresolved|undecided)\b",
)
TRAILER = re.compile(
    r"\s{0,4}(?:release-|also-)?(reviewed|acked|tested|nacked|nak'ed)-by:\s*\"?([^<\"\n]{0,120}?)"
    r"\"?\s*<([^>\s]{1,200})>",
    re.IGNORECASE,
)


_WHO = r"\b(?:i|we|chairs)"
_GROUP = r"(?:draft-ietf-|(?:wg|working group) (?:draft|document|item))"
ADVANCES = Cue(
    "push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|requested|request|"
    "advancing|moving|sending|resubmit|post|upload|support|interest|ahead|proceed|adopt|accept|adopting|"
    "accepting|consider|publish|release|forwarding|progressed|moves|submitting|requesting|progressing|"
    "advanced|moved|passed|going|goes|moves|ready",
    _WHO + r"(?:'ll| will|'m going to| am going to| are going to|'re going to| have|'ve)? "
    r"(?:now |then )?(?:push|send|forward|submit|move|pass|progress|advance|submitted|forwarded|sent|request|"
    r"requested) (?:(?:the|this|it|them|that|draft-\S{1,80}) ?(?:draft|document|publication|spec\w*|text)?)"
    r" ?(?:to(?:wards?)?|forward|on|for|of|up)\b",
    r"\b(?:re-?submit|submit|post|upload)\b.{0,60}\bas (?:an? )?" + _GROUP,
    r"\bplease (?:re-?submit|submit|post|upload) (?:an? |the |it )?(?:new |initial )?draft-ietf-",
    r"\b(?:sufficient|strong|clear|enough|good|general|ample) (?:\w+ )?(?:support|interest)"
    r"\b.{0,80}\b(?:adopt\w*|proceed|publish\w*|move|advance|go ahead|accept|progress)\b",
    _WHO + r"(?:'ll| will| are going to|'re going to|'re| are) (?:(?!consider|think|discuss|debat|"
    r"look|not)\w+ )?(?:go ahead|proceed|adopt(?:ing)?|accept(?:ing)?) (?:and|with|this|the|it|draft)\b",
    r"\bconsider (?:this|the|it)(?: \w+){0,3} (?:adopted|accepted|approved)\b",
    _WHO + r"(?:'m| am|'re| are)"
    r" (?:now |therefore )?(?:sending|forwarding|submitting|moving|advancing|progressing|passing)"
    r" (?:the|this|it|them|draft-\S{1,80}) ?(?:draft|document)? ?(?:to(?:wards?)?|forward|on|up)\b",
    _WHO + r"(?:'m| am|'re| are) (?:now |therefore )?requesting (?:the )?publication\b",
    r"\b(?:draft|document)"
    r" (?:is going|goes|moves|now moves) (?:on )?to the (?:iesg|ad|area directors?|rfc editor)\b",
    r"\b(?:chairs|we) (?:\w+ )?(?:believe|think|consider|conclude|find)"
    r"\b.{0,40}\b(?:is|are) (?:now )?ready (?:to go|for|to be|to progress|to move|to advance)"
    r"\b.{0,20}\b(?:iesg|publication|advance\w*|forward|sent)\b",
    r"\b(?:draft|document|it) (?:has |have )?passed (?:the )?(?:wg |working group )?(?:last call|wglc)\b|"
    r"\bwglc (?:has |is )?passed\b",
    r"\b(?:so|therefore|thus|accordingly|hence),? (?:the )?(?:i|we|chairs)(?:'ll| will| are going to|"
    r" am going to) (?:now )?(?:publish|adopt|proceed|advance|go ahead|move (?:forward|ahead|on)|"
    r"request (?:the )?publication|release|accept)\b",
    r"\b(?:i|we|chairs)(?:'ll| will| are going to) (?:now )?(?:move|go) (?:ahead|forward) with (?:the |its )?"
    r"(?:publication|adoption|publishing|adopting|release|change)\b",
    r"\b(?:draft|document) (?:will be|will now be|has been|is being|is)"
    r" (?:sent|forwarded|progressed|submitted|passed|advanced|moved) (?:to|on|forward)\b",
)
PUTS_OFF = Cue(
    "wait|hold|holding|postpone|postponed|defer|deferred|postponing|deferring|suspended|suspending|suspend",
    _WHO + r"(?:'re|"
    r"'m|'ll| are| am| will| have| would like)?\b.{0,60}\b(?:wait|hold(?:ing)? off|postpon(?:e|ing)|"
    r"defer(?:ring)?|suspend(?:ing)?)\b",
    r"\b(?:call|decision|vote|adoption|question|last call|wglc|poll|cfc)(?: (?:on|for|of) (?:\w+ ){1,3}?\w+)?"
    r" (?:is|was|has been|will be) (?:now |therefore |hereby )?(?:postponed|deferred|suspended|put on "
    r"hold)\b",
)
_VOTED = r"(?:vote|votes|motion|poll|ballot)"
_OF_ANOTHER = r"(?<!last )(?<!previous )(?<!earlier )(?<!prior )(?<!other )(?<!old )(?<!next )(?<!new )"
_PASSES = Cue(
    "vote|votes|motion|poll|ballot|passed|passes|approved|promote|promoting|publish|carries|+1",
    rf"\b{_OF_ANOTHER}{_VOTED}\b(?: (?!is|for|on|to|the)\w+)?(?: has| have| is| was| are| were)?(?: been)?"
    r"(?: now)? (?:pass(?:es|ed)|succe(?:eds|eded|ssful|ssfully)|carri(?:es|ed)|approved|accepted)\b",
    r"\bpass(?:es|ed) with .{0,30}(?:\+ ?1|\bvotes?\b|\bbinding\b)",
    r"\b(?:release|candidate|proposal)"
    r" (?:is|was|has been) (?:now |hereby |therefore )?(?:approved|accepted)\b",
    rf"\b{_OF_ANOTHER}vote (?:is |has been )?(?:now )?closed with (?:\d+|three|four|five|six|enough) "
    r"(?:binding )?(?:\+ ?1|votes?)",
    r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'m| am|'ve| have) (?:now |"
    r"then )?(?:promot(?:e|ing|ed)|publish(?:ing|ed)?) (?:the|all|these) (?:\w+ )?artifacts?\b[^,;]{0,60}$",
    r"^\W{0,4}passed[.! ]*$",
    rf"\b{_OF_ANOTHER}vote (?:is |has been )?(?:now )?closed and (?:has |it has |it )?(?:passed|passes|"
    rf"succeeded)\b",
    r"\b(?:so|thus|therefore|hence),? (?:the|this) (?:\w+ )?(?:release|candidate|rc\d*|proposal|motion)"
    r" (?:has )?(?:passes|passed|carries)\b",
    r"\b(?:we|i)(?:'ve| have)? (?:now )?(?:have|got|reached) (?:now )?(?:enough|sufficient|the required|"
    r"the necessary|"
    r"the) (?:binding )?(?:\+1s?|votes)(?: (?:we|that we|i) need(?:ed)?)?\b(?! (?:of|from|against))",
)
_SELF = r"(?:\b(?:i|we)(?:'ll| will|'m| am|'re| are)(?: going to)?|\blet(?:'s| me))"
_CANDIDATE = r"(?:rc ?\d*|(?:release )?candidate)\b"
_FAILS = Cue(
    "vote|votes|motion|poll|call|release|cancelled|canceled|cancelling|canceling|cancel|candidate|withdraw|"
    "withdrawing|respin|respinning|re|reroll|rerolling|rolling|roll|restage|rc",
    rf"\b{_OF_ANOTHER}(?:vote|it|call|release|candidate|poll)\b.{{0,40}}\bcancell?ed\b",
    r"\bcancell?(?:ing|ed)? (?:this|the|my) (?:\w+ )?(?:vote|release|call|poll|candidate)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:(?:has|is|was|does|did)(?:n't| not)? )?(?:now |therefore |thus )?"
    r"(?:fail(?:s|ed)|void|withdrawn|defeated|rejected)\b",
    rf"\b{_OF_ANOTHER}{_VOTED} (?:does|did)(?:n't| not) (?:pass|carry|succeed)\b",
    r"\b(?:withdraw|withdrawing|abort|aborting|retract|retracting)"
    r" (?:this|the|my) (?:\w+ )?(?:vote|candidate|release candidate)\b",
    r"\bclos(?:e|ing) (?:this|the) (?:vote|call|poll) as (?:failed|cancell?ed|rejected)\b",
    rf"{_SELF} (?:\w+ (?:it |this )?and )?(?:re-?spin(?:ning)?|re-?roll(?:ing)?|re-?stag(?:e|ing))\b",
    rf"{_SELF} (?:cancel|stop|drop|pull|abort)(?:l?ing|ping)? (?:and|(?:this|the|that|my) (?:\w+ )?"
    r"(?:vote|one|release|candidate|rc)\b)",
    r"^\W{0,4}(?:(?:ok(?:ay)?|right|thanks|good catch|so)[,.! ]+)?(?:cancell?ing(?=[,.;!]| and\b)|"
    rf"(?:i'm |i am |let me )?(?:rolling|respinning) (?:an? |the |another )?(?:new |next )?{_CANDIDATE})",
    rf"{_SELF} roll(?:ing)? (?:back )?(?:an? |the |another )(?:new |next )?(?:{_CANDIDATE}|release)",
    rf"\b{_CANDIDATE} is (?:sunk|dead|doa|off|void)\b|\bcall(?:ing)? (?:this|the|that) {_CANDIDATE} "
    rf"(?:dead|failed|off)\b",
    r"\b(?:vote|it)"
    r" (?:did(?:n't| not)|does(?:n't| not)) (?:get|have|reach|receive) enough (?:binding )?(?:\+ ?1|votes?)",
    rf"\bclosing {_OF_ANOTHER}(?:this|the) vote\b.{{0,30}}\b(?:not|n't) (?:\w+ )?enough (?:binding )?votes\b",
)
CLOSINGS = (_PASSES, _FAILS)
IN_PERSON = re.compile(
    r"\bhats? (?:is |are )?off\b|\bno hats?\b|\bwithout (?:any |my )?(?:\w+ )?hats?\b|"
    r"\bas an? (?:individual|participant|contributor|implementer|co-?author)\b|"
    r"\b(?:speaking )?(?:personally|for myself)\b|\bnot (?:speaking )?as (?:the |a )?(?:co-?)?chair\b"
)
"""A role holder says that they speak without the role."""
CLOSES = re.compile(
    r"\b(?:call|wglc|poll|discussion|thread|question)\b.{0,40}\b(?:closed|concluded|ended|completed?|"
    r"over|finished)\b|\bconcludes the\b|\b(?:closing|i(?:'ll| will)? close|we(?:'ll| will)? close)"
    r" (?:this|the) (?:\w+ ){0,3}(?:call|wglc|poll|discussion|thread|question)\b"
)
_NUMBER = (
    r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|a dozen)"
)
_SIDE = (
    r"(?:support\w*|(?:were |was |are |is )?(?:in favou?r|for|against|opposed)|oppos\w+|object\w*|"
    r"want\w*|agree\w*|disagree\w*|prefer\w*|spoke|voted|approve\w*|say yes|said yes|say no|said no)"
)
TALLY = Cue(
    "support|supports|supported|supporting|supportive|supporters|favour|favor|for|against|opposed|oppose|"
    "opposes|opposing|opposition|objected|object|objects|objections|objection|want|wants|wanted|agree|agrees|"
    "agreed|disagree|prefer|prefers|preferred|spoke|voted|approve|yes|no|+1|-1",
    rf"\b{_NUMBER} (?:\w+ ){{0,2}}?(?:people|persons|participants|members|individuals|"
    rf"respondents|contributors|voices|implementers|of (?:you|them|us))(?: \w+){{0,3}}? {_SIDE}\b",
    rf"\b{_NUMBER} (?:\w+ )?(?:(?:for|in favou?r|in support|supporting|support)\b|\+ ?1)"
    rf"[^.;]{{0,40}}\b{_NUMBER} (?:\w+ )?(?:(?:against|opposed|opposing|objecting|objections?)\b|- ?1)",
    rf"\b{_NUMBER} (?:\w+ )?(?:expressions?|statements?|messages?|mails|replies|responses|voices|votes) "
    r"(?:\w+ )?(?:of support|in support|in favou?r|for|against)\b",
)
"""The number of people on each side, as a participant counts them."""
WANTS_NEW_VERSION = Cue(
    "version|revision|draft|update|revise|address|addresses|addressing|id",
    r"\b(?:post|submit|publish|issue|upload|produce|prepare|provide|need|needs|await|awaiting|request|spin)"
    r"(?: (?:an?|the|one))?(?: \w+)? (?:new|updated|revised|next|another) (?:version|revision|draft)\b",
    r"\b(?:new|revised|updated|another)"
    r" (?:version|revision|draft|i-?d) (?:is|will be) (?:needed|required|necessary)\b",
    r"\bplease (?:\w+ )?(?:update|revise) (?:the|your|this) (?:draft|document|text)\b",
    r"\baddress(?:es|ing)? "
    r"(?:the|all|all the|these|those) (?:\w+ ){0,3}(?:comments?|issues?|remarks|concerns)\b",
)
UNOPPOSED = Cue(
    "concerns|concern|objections|objection|objected|opposed|complained|complaints|disagreed",
    r"\b(?:no-?one|nobody|no one) (?:has |had |seems to have )?(?:\w+ )?(?:had|"
    r"raised|voiced|expressed|any|objected|opposed|complained|disagreed|objections?|concerns?)\b.{0,60}[,;]? "
    r"(?:so|and) (?:i|we)(?:'ve| have|'m| am)? (?:\w+ )?(?:moved|went|gone|did|done|made|renamed|"
    r"merged|committed|pushed|applied|removed|added|changed|completed|switched|started|going|proceeded)\b",
    r"\b(?:(?:there (?:have been|were|are)|hearing|seeing|heard|with|having) no|as there were no|without any)"
    r" (?:\w+ )?(?:objections?|concerns|complaints)"
    r"\b.{0,40}[,;]? (?:so )?(?:i|we)(?:'ve| have) (?:\w+ )?(?:moved|gone|done|made|"
    r"renamed|merged|committed|pushed|applied|removed|added|changed|completed|switched|started|proceeded)\b",
)
"""The proposer says that nobody was against it and that it is done."""
GOES_ON = Cue(
    "extend|extended|extending|reopen|reopened|continue|continues|restart|another|second|again|yet|open",
    r"\b(?:extend(?:ed|ing)?|re-?open(?:ed|ing)?|restart(?:ed|ing)?)\b|\b(?:call|discussion|thread|poll|"
    r"debate)s? (?:will )?continues?\b|\bcontinue (?:the|this|to) (?:call|discuss\w*)\b|\b(?:another|"
    r"second) (?:\w+ )?call\b|\bcall again\b|\b(?:not|n't)\b.{0,60}\byet\b|\bstays? open\b",
)
ON_WHAT_TERMS = re.compile(
    r"\b(?:if|unless|once|until|"
    r"when|should|would|could|might|may|hope|hopes|hoping|wish|expect|expected|want|wants|whether|soon|can)\b"
)
"""A sentence that sets terms for an end, or hopes for it, does not end anything."""
_NO = re.compile(r"n't\b|\b(?:not?|never|hardly|without|rather)\b")
_CLAUSE_END = re.compile(r"[,;:.!]")
_NOT = re.compile(r"n't\b|\b(?:not|never|hardly)\b")
HAPPY = re.compile(
    r"\b(?:no|without) (?:\w+ ){0,2}(?:objections?|opposition|concerns|dissent|comments|issues|"
    r"one (?:objected|opposed)|other votes?|-1)\b|\b(?:did|have|has|had)(?: ?n't| not) (?:receive|hear|see|"
    r"get|gotten|received|heard|seen) (?:\w+ ){0,2}(?:objections?|opposition|concerns|dissent)\b"
)
"""Negations in a summary that nobody was against it."""


def closing_of(sentence: OwnSentence) -> str | None:
    """Return how a sentence ends a vote: `passed`, `cancelled`, or None."""
    if sentence.asks:
        return None
    folded = sentence.folded
    if (found := _FAILS.search(sentence)) and not ON_WHAT_TERMS.search(folded):
        # "No reason to cancel the vote": a denial before it in the same clause cancels nothing.
        return None if _NO.search(_CLAUSE_END.split(folded[: found.start()])[-1]) else "cancelled"
    found = _PASSES.search(sentence)
    if found is None or _NOT.search(found[0]) or ON_WHAT_TERMS.search(folded[: found.end()]):
        return None
    return "passed"


def may_close(sentence: OwnSentence) -> bool:
    return _PASSES.finds(sentence) or _FAILS.finds(sentence)
