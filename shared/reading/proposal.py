"""What is proposed to the group, by which mail, in which form, by whom, and the genre of the thread."""

import re
from dataclasses import dataclass, field

from shared.mail.subjects import split_subject
from shared.models.values import Genre, Preset, PropositionForm, ReadGenre, Tier
from shared.reading.cues import ANNOUNCES, ASKS_GROUP, ASKS_HELP, PROPOSES, REPORTS, Cue, may_close
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence, word_key
from shared.reading.stance_cues import AGREES, APPROVES, OPPOSES, SUPPORTS

VOTE_TAG = re.compile(r"\[\s*(?:VOTE|POLL)\b[^\]]{0,30}\]|^\s*VOTE\s*:", re.IGNORECASE)
RESULT_TAG = re.compile(r"\[\s*(?:RESULTS?|VOTE RESULTS?)\s*\]|\[VOTE\]\s*\[RESULT", re.IGNORECASE)
_RESULT = re.compile(
    r"\b(?:vote|poll|ballot) (?:results?|outcome)\b|"
    r"\b(?:results?|outcome) of (?:the |our )?(?:\w+ ){0,3}(?:vote|poll|ballot)\b",
    re.IGNORECASE,
)
_CALL_SUBJECT = re.compile(
    r"\b(?:cfc|call for (?:consensus|votes?)|consensus call|call for (?:wg |working group )?adoption|"
    r"(?:wg |working group )?adoption (?:call|poll)|wglc|(?:wg|working group) last call|straw poll|cfv)\b|"
    r"^(?:\[[^\]]{0,40}\] ?)*(?:poll|last call|vote) ?(?::|on\b|for\b)",
    re.IGNORECASE,
)
_OF_A_CALL = re.compile(
    r"\b(?:reviews?|comments?|feedback|results?|conclusion|concluded|summary|closed?|closing|ended|"
    r"completed|outcome|issues?|"
    r"question|cancell?ed|withdrawn)\b",
    re.IGNORECASE,
)
"""A subject that names a call and puts none."""
_LAST_CALL_IN_PASSING = Cue(
    "call|wglc",
    r"\b(?:like any other|in preparation for|during|comments? (?:from|on|in)|"
    r"after|result of|prior to|received|before|passed|completed|since|previous)\b.{0,60}\b(?:last call|wglc)",
    r"\b(?:last call|wglc|lc) (?:comments?|review|issues?|period (?:has|is))\b",
)
_NO_MATTER = re.compile(
    r"(?:From|Date|Subject|To|Cc|[A-Z][a-z]+(?:-[a-z]+)*-by):\s|[(#]|(?:Dear|Hi|Hello)\b.{0,30}$|"
    r"I hope (?:you|this)\b|(?:Thanks|Thank you)\b.{0,60}$|Any thoughts\b|Originally reported\b"
)
"""What stands at a mail's head and puts nothing: headers, trailers, asides in brackets, courtesies."""
_PROPOSING_SUBJECT = re.compile(
    r"\[\s*(?:RFC|DISCUSS(?:ION)?|PROPOSAL|PROPOSED|IDEA)\b|"
    r"^\W{0,4}(?:RFC|Proposal|Suggestion|Idea|Feature request)\s*[:-]",
    re.IGNORECASE,
)
_ACTS = (
    r"(?:add|remove|drop|change|rename|move|replace|deprecate|merge|adopt|switch|split|delete|"
    r"modify|introduce|extend|make|stop|disable|enable|convert|bump|raise|cancel|publish|retire|rewrite|push)"
)
_ACT_STEMS = re.compile(
    r"\b(add|remov|drop|chang|renam|mov|replac|deprecat|merg|adopt|switch|"
    r"split|delet|modif|introduc|extend|mak|disabl|enabl|convert|rais|cancel|publi|retir|rewrit)\w*"
)
# Plain words that put something, beside those of `PROPOSES`. They are looked for in the one mail that may put
# it: words as common as these would make every other sentence dearer, were they a cue.
_PUTS_FORWARD = re.compile(
    r"(?<!how )(?<!what )(?<!where )(?<!when )(?<!why )\b(?:should(?:n't)?|could(?:n't)?|shall)"
    r" we (?!expect|know|find|assume|say|see|get|do (?:about|to|if|in|when|with)|help)\w|"
    r"(?<!how )(?<!what )"
    r"(?<!where )(?<!when )\bcan(?:'t)? we (?!see|get|know|find|assume|help|use|do)[^?]{4,200}\?|"
    r"\bwhat (?:do|would|does) (?:you|people|others|folks|everyone|everybody|"
    r"the (?:list|group|wg|community))(?: guys| all| folks| others)? (?:think|say|feel)\b|"
    r"\bwhat you(?:'d| would)? think\b|"
    r"\bhow (?:do|would) (?:you|people|others|folks|we) (?:all )?feel about\b|\bopinions\?|"
    r"\bmay i (?:suggest|propose)\b|\b(?:has|have) been (?:proposed|suggested) (?:that|to)\b|"
    r"\b(?:here is|here's|this is|i have|i've got)"
    r" an? (?:\w+ ){0,2}(?:suggestion|proposal|idea|rfc)\b|"
    r"\b(?:i|we)(?:'m| am|'re| are|'ve been| have been| was| were)"
    r" (?:also |now |currently |just )?(?:thinking (?:about|of)|planning (?:on|to)|inclined to|"
    r"tempted to) (?!us(?:e|ing)|writ(?:e|ing)|build|try|buy|start|learn|do\b|doing)\w|"
    rf"\b(?:i|we)(?:'d| would)? (?:plan|intend|want|wish|like) to {_ACTS}\b|"
    r"\bwould it (?:be (?:ok|"
    r"okay|acceptable|good|useful|worthwhile|better|reasonable|sensible|fine)|make sense)\b|"
    r"\b(?:perhaps|maybe) (?:\S+ ){1,5}(?:could|should|ought to)\b|"
    r"\blet (?:me|us) know (?:if|whether) (?:\w+ ){0,2}(?:ok|"
    r"okay|acceptable|agree|object|(?:that|this|it)(?:'s| is| sounds| seems| works))\b|"
    r"\b(?:know|share|send|give|provide|have|get|hear|appreciate)"
    r"(?: me| us)?(?: with)? your (?:\w+ )?(?:thoughts|opinions?|views?|comments|suggestions)\b|"
    r"\bany (?:other )?(?:opinions?|thoughts|comments) (?:on|about|regarding)\b|"
    r"\bany (?:thoughts|opinions|comments)\?|"
    r"\b(?:could|should|might|can|ought to)"
    r" (?:also |just |simply |perhaps |instead )?be (?:added|removed|dropped|"
    r"changed|renamed|moved|replaced|deprecated|merged|split|deleted|modified|retired|revised|"
    r"relaxed|clarified|reworded|simplified|extended|disabled|enabled|rewritten|adopted)\b|"
    r"\bwould you (?:\w+ )?accept\b|"
    r"\bif (?:you|people|everybody|everyone)(?: are|'re| is) (?:ok|okay|fine|happy) with\b|\bdo "
    r"(?:we|you|people|others) (?:all )?agree\b|\b(?:is|would) (?:that|this|it) (?:be )?(?:ok|"
    r"okay|reasonable|acceptable|a (?:good|bad|reasonable) (?:idea|approach))\b[^.]{0,40}\?|"
    r"\bi(?:'m| am)? (?:therefore |also |just )?wonder(?:ing)? (?:if|whether) (?:we|"
    r"it|this|that|the)\b|\b(?:may|might|would) (?:also )?(?:be a good idea|make sense) to\b|"
    r"\bi(?:'d| would) (?:argue|prefer)\b|"
    r"\b(?:text|section(?: \S+)?|draft|document|spec|specification|we)"
    r" (?:\w+ )?(?:should|ought to|needs to) (?:\w+ )?(?:say|state|mention|specify|require|"
    r"recommend|allow|forbid|explain|use|include|refer|clarify|be (?:a|an|in|more|clear\w*))\b|"
    r"\bwhy (?:don't|do not) we\b|\bwhy not (?:just |simply )?\w[^?]{4,120}\?|"
    r"(?:^\W{0,4}|[,;:.] |\bso |\bthen )"
    r"let's (?!see|say|assume|hope|take an?|look|suppose|call|not\b)\w|"
    rf"\bwe (?:really |definitely |probably |also |just )?(?:should|ought to) (?:\w+ )?{_ACTS}\b|"
    r"\bi(?:'d| would)? (?:strongly )?recommend (?:to |that we |we |\w+ing\b)|"
    r"\bplease consider (?:\w+ing|this|the following)\b"
)
_EARLY = 6
"""Mails among which a proposition is looked for where the first one puts none."""
_MAX_LOG = 20_000
_MAX_PUTTING = 60
"""Sentences of a mail among which plain words that put something are looked for."""
_SHORT, _LONG = 120, 1_500
"""Letters of a mail: too few to put anything, and so many that quotes in it are beside the point."""


@dataclass(slots=True)
class Proposal:
    """The proposition in its thread. `mails` are the numbers of all mails that put it or put it anew."""

    mail: LinkedMail
    form: PropositionForm
    person: str
    mails: set[int]
    words: OwnSentence | None
    owners: set[str]
    """Who puts it, and whose patch it is: their word changes or withdraws it."""
    proposers: set[str]
    """These, and everybody who brings another patch: none of them is a voice."""
    namesakes: set[str] = field(default_factory=set)
    """Addresses with an owner's name: no voice for it either, and they speak for nobody."""


def find_proposal(thread: LinkedThread) -> Proposal:
    """Where something is put; every thread has such a mail, though nothing may be proposed in it."""
    mail, form = _mail_and_form(thread)
    mails = {mail.number}
    owners, proposers = {mail.person}, set[str]()
    if form is PropositionForm.PATCH:
        brought = [one for one in thread.mails if one.is_patch or (one.has_diff and not one.is_reply)]
        for one in brought:
            if one.person == mail.person and _is_of_the_work(one, mail, mails):
                mails.add(one.number)
        # Who brings another patch into the thread praises none of them. Whom a stranger names is not asked.
        proposers = {one.person for one in brought}
        authors = thread.people.authors
        owners.update(authors[number] for number in mails if number in authors)
    elif mail is not thread.root and is_answer(thread.root):
        # Where order was lost, answers hang on a first mail that is itself an answer.
        mails.add(thread.root.number)
    return Proposal(
        mail=mail,
        form=form,
        person=mail.person,
        mails=mails,
        words=_words(mail, form),
        owners=owners,
        proposers=owners | proposers,
        namesakes=_namesakes(thread, owners),
    )


def _namesakes(thread: LinkedThread, owners: set[str]) -> set[str]:
    """Other addresses with an owner's full name: the same person, or somebody who took the name."""
    voices = {thread.people.voice(mail.number) for mail in thread.mails if mail.person in owners}
    others = {mail.person for mail in thread.mails if thread.people.voice(mail.number) in voices}
    return others - owners


def _is_of_the_work(patch: LinkedMail, first: LinkedMail, mails: set[int]) -> bool:
    """A part or a version of what `first` brings, and not another patch that came up in the thread."""
    if patch.version > 1:
        return True
    if patch.is_part:
        return patch.parent is None or patch.parent in mails
    words, others = (set(word_key(split_subject(one.mail.subject).text).split()) for one in (patch, first))
    return len(words & others) * 2 >= min(len(words), len(others))


def _mail_and_form(thread: LinkedThread) -> tuple[LinkedMail, PropositionForm]:
    root = thread.root
    if tells_a_result(root.mail.subject):
        return root, PropositionForm.TEXT
    if VOTE_TAG.search(root.mail.subject) or _is_ballot(root):
        return root, PropositionForm.VOTE
    may_put = [mail for mail in thread.mails if thread.is_taken_up(mail)] or [root]
    patch = next((mail for mail in may_put if mail.is_patch), None)
    if patch is not None:
        return patch, PropositionForm.PATCH
    calling = root if _calls_by_subject(root) else _asking(thread, may_put)
    if calling is not None:
        return calling, PropositionForm.CALL
    untagged = _untagged_patch(thread, may_put)
    if untagged is not None:
        return untagged, PropositionForm.PATCH
    says_little = is_answer(root) or len(root.words) < _SHORT
    return _best_proposal(thread, may_put) if says_little else root, PropositionForm.TEXT


def _asking(thread: LinkedThread, may_put: list[LinkedMail]) -> LinkedMail | None:
    """The first of the early mails that formally asks the group, if its writer may."""
    asking = next((mail for mail in may_put[:_EARLY] if any(map(asks_group, mail.sentences))), None)
    return asking if asking is not None and _may_put(thread, asking) else None


def _calls_by_subject(mail: LinkedMail) -> bool:
    subject = mail.mail.subject
    return not mail.is_reply and bool(_CALL_SUBJECT.search(subject)) and not _OF_A_CALL.search(subject)


def _may_put(thread: LinkedThread, asking: LinkedMail) -> bool:
    """A later mail that asks takes nothing over that people already answer, unless its writer may."""
    root = thread.root
    if asking.person == root.person or is_answer(root) or thread.people.role(asking.number) is not None:
        return True
    between = thread.mails[1 : asking.number]
    return not any(map(PROPOSES.finds, root.sentences)) or not any(
        SUPPORTS.finds(one) or AGREES.finds(one) or APPROVES.finds(one) or OPPOSES.finds(one)
        for mail in between
        if mail.parent == root.number
        for one in mail.sentences
    )


def acts_in(words: str) -> set[str]:
    """What is to be done, by the stems of the verbs: "removal" and "removing" are one act."""
    return set(_ACT_STEMS.findall(words))


def tells_a_result(subject: str) -> bool:
    """The thread tells how a vote ended: nobody votes in it any more."""
    return bool(RESULT_TAG.search(subject) or _RESULT.search(subject))


def _untagged_patch(thread: LinkedThread, may_put: list[LinkedMail]) -> LinkedMail | None:
    """A patch that only its subject or its text shows; one that answers a report is what is put."""
    root = thread.root
    if is_signed_patch(root):
        return root
    if re.search(r"\bpatch\b", root.mail.subject, re.IGNORECASE):
        diff = next((mail for mail in may_put[:4] if mail.has_diff), None)
        if diff is not None:
            return diff
    if any(map(PROPOSES.finds, root.sentences)):
        return None
    return next((mail for mail in may_put if mail.has_diff and mail.person != root.person), None)


def is_signed_patch(mail: LinkedMail) -> bool:
    """A change with its author's sign-off: a patch, whatever tag its subject has."""
    return mail.has_diff and not mail.is_reply and "\nSigned-off-by: " in mail.mail.text[:_MAX_LOG]


def _is_ballot(mail: LinkedMail) -> bool:
    """A ballot paper: lines such as `[ ] +1` that name what may be voted."""
    return len(re.findall(r"^\s*\[ ?\]\s*[+-] ?[01]\b", mail.mail.text[:20_000], re.MULTILINE)) > 1


def is_answer(mail: LinkedMail) -> bool:
    """A first mail that is itself an answer: the thread was cut, or its order lost."""
    first = mail.sentences[0] if mail.sentences else None
    quotes_much = bool(mail.mail.quotes) and len(mail.words) < _LONG
    return mail.is_reply or quotes_much or first is None or AGREES.finds(first) or SUPPORTS.finds(first)


def asks_group(sentence: OwnSentence) -> bool:
    """Whether the sentence formally asks the group. Reviews and reports speak of last calls, too."""
    return (
        ASKS_GROUP.finds(sentence) and not _LAST_CALL_IN_PASSING.finds(sentence) and not may_close(sentence)
    )


def _best_proposal(thread: LinkedThread, may_put: list[LinkedMail]) -> LinkedMail:
    root = thread.root
    first = root.sentences[0] if root.sentences else None
    assents = first is not None and (AGREES.finds(first) or SUPPORTS.finds(first))
    choice = [mail for mail in may_put[:_EARLY] if not (assents and mail.person == root.person)]
    best = max(choice or may_put, key=_proposing)
    return best if _proposing(best) > 0 or assents else root


def _proposing(mail: LinkedMail) -> float:
    return sum(map(PROPOSES.finds, mail.sentences)) - 0.2 * mail.number


def _words(mail: LinkedMail, form: PropositionForm) -> OwnSentence | None:
    """The sentence that puts it best: the one that asks, else the first that proposes, else the first."""
    wanted = (asks_group, PROPOSES.finds) if form is not PropositionForm.PATCH else ()
    for test in wanted:
        for sentence in mail.sentences[:40]:
            if test(sentence):
                return sentence
    return next((one for one in mail.sentences[:40] if not _NO_MATTER.match(one.text)), None)


_MOST_ASKING, _FEW_WORDS = 40, 8


def matter_of(put: Proposal) -> str:
    """In which words it is put: the subject's, and those that ask, else those that put it best."""
    sentences = put.mail.sentences[:_MOST_ASKING]
    asking = [one.folded for one in sentences if asks_group(one)]
    words = asking or ([put.words.folded] if put.words else [])
    names_nothing = bool(asking) and all(len(one.split()) <= _FEW_WORDS for one in asking)
    if names_nothing and not acts_in(" ".join(words)):
        # "This is a poll." names no act: the sentences that propose do.
        words += [one.folded for one in sentences if PROPOSES.finds(one) and acts_in(one.folded)]
    return " ".join([split_subject(put.mail.mail.subject).text.lower(), *words])


_FIRMLY = Cue(
    "propose|proposing|suggest|proposal|should|how|think|add|see|have|change|remove",
    r"\b(?:i|we)(?:'d| would|'m| am)? (?:like to |want to |hereby )?(?:propos(?:e|ing)|suggest)\b|"
    r"\bshould we\b|\bhow about\b|\bwhat do you (?:all )?think about\b|"
    r"\bi(?:'d| would) (?:like|love) to (?:add|see|have|change|remove|propose)\b",
)


_LEAST_ASKED = 5


def asks_or_proposes(form: PropositionForm, genre: Genre, words: str) -> bool:
    """Whether the words that put something say what: of a vote its subject does, of a patch its title."""
    sentence = OwnSentence(0, 0, 0, len(words), words, -1, opens_paragraph=True)
    if genre not in {Genre.CALL, Genre.PROPOSAL} or len(words.split()) < _LEAST_ASKED or words.endswith(":"):
        return False
    if form is PropositionForm.CALL:
        return asks_group(sentence)
    return form is PropositionForm.TEXT and _FIRMLY.finds(sentence)


def has_proposal(put: Proposal) -> bool:
    """Positions need something to be for or against."""
    if put.form is PropositionForm.PATCH:
        return put.mail.is_patch or put.mail.has_diff
    if put.form is not PropositionForm.TEXT:
        return True
    return not tells_a_result(put.mail.mail.subject) and any(map(PROPOSES.finds, put.mail.sentences))


def proposes_plainly(sentence: OwnSentence) -> bool:
    return _PUTS_FORWARD.search(sentence.folded) is not None


def proposes_something(put: Proposal) -> bool:
    """Plain words, or the subject's tag, show that something is put, though no form does."""
    # An answer whose thread was cut puts nothing: it takes up what another mail put.
    return (
        put.form is PropositionForm.TEXT
        and not put.mail.is_reply
        and (
            bool(_PROPOSING_SUBJECT.search(put.mail.mail.subject))
            or any(map(proposes_plainly, put.mail.sentences[:_MAX_PUTTING]))
        )
    )


def result_subject(thread: LinkedThread) -> str | None:
    """The subject of the vote whose result this thread brings, where the result has a thread of its own."""
    subject = thread.root.mail.subject
    if thread.preset not in {Preset.APACHE, Preset.FREE} or not RESULT_TAG.search(subject):
        return None
    return split_subject(subject).text or None


_SUBJECT_TAGS = re.compile(r"\[([^\]]{0,80})\]")
_ANNOUNCEMENT = re.compile(
    r"^ann(?:ounc\w*)?\b|\bannounc\w+\b|what's cooking|"
    r"\bminutes\b|\bcfp\b|\breleased\b|\bcall for (?:papers|participation)\b|\brelease announcement\b",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"\breleases?\b|\bagenda\b|\breminder\b|\bwelcome\b|\bpre-?release\b|\bsprint\b|\bmeeting\b|\bnews\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\?\s*$|\bhow (?:to|do|can)\b|\bquestions?\b|\bhelp\b|\bproblems? with\b", re.IGNORECASE
)
_PROPOSAL = re.compile(r"\b(?:proposals?|proposed|feature request|rfc|suggestion|idea)\b", re.IGNORECASE)
# A subject that names a change is seldom a mere question, however much its mail asks.
_CHANGE = re.compile(
    r"\b(?:plans?|roadmap|design|rewrit\w+|remov\w+|deprecat\w+|moving|migrat\w+|policy|changes?|breaking)\b",
    re.IGNORECASE,
)
_BUG = re.compile(
    r"\bbugs?\b|\berrat(?:um|a)\b|"
    r"\bregression\b|\bsegfault\b|\bcrash\w*\b|\bbroken\b|\bfails?\b|\berror\b|\breview of\b",
    re.IGNORECASE,
)
_TEMPLATE = Cue(
    "bug|reproduce|expect|errata|erratum|review|reviewer|reviewed|ballot",
    r"\bbug report\b|\bsteps to reproduce\b|\bwhat did you (?:expect|do before)\b|\bgen-?art\b|"
    r"\berrat(?:um|a)\b|\b(?:review team|secdir|opsdir|tsvart|rtgdir|genart) review|\bhas entered "
    r"the following ballot position\b|\bi(?: am| have been) (?:the )?(?:assigned|selected)\b.{0,40}\breview",
)
_PUTS_FIRMLY = Cue(
    "propose|suggest|proposal|think|should",
    r"\bi(?:'d| would)? (?:like to )?(?:propose|suggest)\b(?! (?:you|that you))|"
    r"\bmy proposal\b|\bwhat do you (?:all )?think\b|\bi think we should\b",
)

# Who asks whether something should be otherwise may propose it.
_HINTS = Cue(
    "should|could|can|why|like|would|let's|support|feature|add|better",
    r"\bshould (?:we|be|it)\b|\b(?:could|can) we\b|\bwhy (?:don't|not)\b|"
    r"\bit would be\b|\blet's\b|\b(?:would|'d) like to (?:add|see|have|change|make|allow)\b|"
    r"\b(?:add|adding) (?:\w+ )?support\b|\bfeature\b|\bbetter (?:to|way)\b",
)


@dataclass(slots=True)
class _Opening:
    """The first mail, as far as its form goes."""

    subject: str
    tags: str
    sentences: list[OwnSentence]
    tells_a_result: bool
    starts: bool
    """The thread is seen from its start: the first mail answers nothing."""

    def has(self, cue: Cue, most: int = 20) -> bool:
        return any(map(cue.finds, self.sentences[:most]))

    @property
    def asks(self) -> bool:
        return any(sentence.asks for sentence in self.sentences[:25])


_CONFIDENT, _UNSURE = 0.92, 0.5


def read_genre(thread: LinkedThread, put: Proposal) -> ReadGenre:
    kind, sure = _kind(thread, put)
    return ReadGenre(kind, _CONFIDENT if sure else _UNSURE, Tier.SAID if sure else Tier.REMARK)


def _kind(thread: LinkedThread, put: Proposal) -> tuple[Genre, bool]:
    root = thread.root
    opening = _Opening(
        subject=split_subject(root.mail.subject).text,
        tags=" ".join(_SUBJECT_TAGS.findall(root.mail.subject)),
        sentences=root.sentences,
        tells_a_result=tells_a_result(root.mail.subject),
        starts=not root.is_reply and root.mail.reply_to is None and not root.mail.references,
    )
    if put.form is PropositionForm.VOTE:
        return Genre.CALL, True
    signed = put.mail is root and is_signed_patch(root) and not _BUG.search(root.mail.subject)
    if put.mail.is_patch or signed:
        # A patch that somebody else brings in answer to a report: what the thread is remains the report's.
        return Genre.PATCH, put.mail.person == root.person or not opening.starts
    return _by_form(opening) or _by_call(thread, put, opening) or _by_words(thread, put, opening)


def _by_form(opening: _Opening) -> tuple[Genre, bool] | None:
    """Templates and tags that software or custom gives."""
    if not opening.starts:
        return None
    if any(map(_TEMPLATE.finds, opening.sentences[:8])):
        return Genre.REPORT, True
    if opening.tells_a_result:
        return Genre.ANNOUNCEMENT, True
    plainly = bool(re.search(r"\bANN", opening.tags)) or bool(_ANNOUNCEMENT.search(opening.subject))
    if plainly or opening.has(ANNOUNCES, 6):
        first_asks = bool(opening.sentences) and opening.sentences[0].asks
        return Genre.ANNOUNCEMENT, not first_asks and not opening.has(ASKS_HELP, 6) and not opening.has(
            PROPOSES, 6
        )
    if _NOTICE.search(opening.subject) and not _QUESTION.search(opening.subject):
        return Genre.ANNOUNCEMENT, False
    return None


def _by_call(thread: LinkedThread, put: Proposal, opening: _Opening) -> tuple[Genre, bool] | None:
    if put.form is not PropositionForm.CALL:
        return None
    if put.mail is thread.root or is_answer(thread.root):
        # A notice that asks for something in passing is first of all a notice.
        return Genre.CALL, not opening.has(ANNOUNCES, 3)
    return (Genre.REPORT if opening.has(REPORTS, 8) else Genre.PROPOSAL), False


def _by_words(thread: LinkedThread, put: Proposal, opening: _Opening) -> tuple[Genre, bool]:
    brought = put.form is PropositionForm.PATCH and (put.mail is thread.root or not opening.starts)
    if brought or (opening.starts and re.search(r"\bpatch\b", opening.subject, re.IGNORECASE)):
        return Genre.PATCH, False
    if re.search(r"\b(?:RFC|PROPOSAL)\b", opening.tags) or _PROPOSAL.search(opening.subject):
        return Genre.PROPOSAL, opening.starts and not _QUESTION.search(opening.subject)
    if opening.starts and (
        re.search(r"\bBUG\b", opening.tags, re.IGNORECASE)
        or re.match(r"bug\b", opening.subject, re.IGNORECASE)
    ):
        return Genre.REPORT, True
    return _by_asking(thread, put, opening)


def _by_asking(thread: LinkedThread, put: Proposal, opening: _Opening) -> tuple[Genre, bool]:
    wants_help = opening.has(ASKS_HELP)
    subject_asks = bool(_QUESTION.search(opening.subject))
    asks_for_help = opening.starts and wants_help and (opening.asks or subject_asks)
    # On lists about a text people ask "how about ..." and mean a change of it.
    if asks_for_help and thread.preset is not Preset.IETF and not opening.has(_PUTS_FIRMLY):
        named = _BUG.search(opening.subject) or _CHANGE.search(opening.subject)
        puts = opening.has(PROPOSES) or opening.has(_HINTS)
        return Genre.QUESTION, not puts and not named
    if any(map(_PUTS_FIRMLY.finds, put.mail.sentences[:12])):
        return Genre.PROPOSAL, put.mail is thread.root and not subject_asks and not wants_help
    return _by_default(thread, put, opening, wants_help=wants_help)


def _by_default(
    thread: LinkedThread, put: Proposal, opening: _Opening, *, wants_help: bool
) -> tuple[Genre, bool]:
    """Guesses only, but for a subject that asks."""
    proposes = opening.has(PROPOSES)
    if not opening.starts:
        puts = thread.preset is Preset.IETF or any(map(PROPOSES.finds, put.mail.sentences[:8]))
        return (Genre.PROPOSAL if puts else Genre.DISCUSSION), False
    if thread.preset is Preset.IETF:
        asks = wants_help and opening.asks and not proposes
        return (Genre.QUESTION if asks else Genre.PROPOSAL), False
    if proposes:
        return Genre.PROPOSAL, False
    if opening.subject.rstrip().endswith("?"):
        return Genre.QUESTION, wants_help
    if opening.asks or wants_help:
        return Genre.QUESTION, False
    return (Genre.REPORT if opening.has(REPORTS, 8) else Genre.DISCUSSION), False
