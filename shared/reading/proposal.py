"""Finds the proposal to the group with its mail, form and people, and the genre of the thread."""

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
    r"\b(?:reviews?|comments?|feedback|results?|conclusion|concluded|summary|closed?|closing|ended|completed|"
    r"outcome|issues?|question|cancell?ed|withdrawn)\b",
    re.IGNORECASE,
)
"""A subject that names a call without making one."""
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
"""Headers, trailers, asides and courtesies at a mail's head, which propose nothing."""
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
# Plain words that propose, in addition to `PROPOSES`. They are searched only in the one mail that may
# propose, because such common words would slow down every other sentence as a cue.
_PLAIN_PROPOSAL = re.compile(
    r"(?<!how )(?<!what )(?<!where )(?<!when )(?<!why )\b(?:should(?:n't)?|could(?:n't)?|shall) we (?!expect|"
    r"know|find|assume|say|see|get|do (?:about|to|if|in|when|with)|help)\w|"
    r"(?<!how )(?<!what )(?<!where )(?<!when )\bcan(?:'t)? we (?!see|get|know|find|assume|help|use|"
    r"do)[^?]{4,200}\?|\bwhat (?:do|would|does) (?:you|people|others|folks|everyone|everybody|the (?:list|"
    r"group|wg|community))(?: guys| all| folks| others)? (?:think|say|feel)\b|\bwhat you(?:'d|"
    r" would)? think\b|\bhow (?:do|would) (?:you|people|others|folks|we) (?:all )?feel about\b|\bopinions\?|"
    r"\bmay i (?:suggest|propose)\b|\b(?:has|have) been (?:proposed|suggested) (?:that|to)\b|\b(?:here is|"
    r"here's|this is|i have|i've got) an? (?:\w+ ){0,2}(?:suggestion|proposal|idea|rfc)\b|\b(?:i|we)(?:'m|"
    r" am|'re| are|'ve been| have been| was| were) (?:also |now |currently |just )?(?:thinking (?:about|of)|"
    r"planning (?:on|to)|inclined to|tempted to) (?!us(?:e|ing)|writ(?:e|ing)|build|try|buy|start|learn|do\b|"
    rf"doing)\w|\b(?:i|we)(?:'d| would)? (?:plan|intend|want|wish|like) to {_ACTS}\b|\bwould it (?:be (?:ok|"
    r"okay|acceptable|good|useful|worthwhile|better|reasonable|sensible|fine)|make sense)\b|\b(?:perhaps|"
    r"maybe) (?:\S+ ){1,5}(?:could|should|ought to)\b|\blet (?:me|us) know (?:if|whether) (?:\w+ ){0,2}(?:ok|"
    r"okay|acceptable|agree|object|(?:that|this|it)(?:'s| is| sounds| seems| works))\b|\b(?:know|share|send|"
    r"give|provide|have|get|hear|appreciate)(?: me| us)?(?: with)? your (?:\w+ )?(?:thoughts|opinions?|"
    r"views?|comments|suggestions)\b|\bany (?:other )?(?:opinions?|thoughts|comments) (?:on|about|"
    r"regarding)\b|\bany (?:thoughts|opinions|comments)\?|\b(?:could|should|might|can|ought to) (?:also |"
    r"just |simply |perhaps |instead )?be (?:added|removed|dropped|changed|renamed|moved|replaced|deprecated|"
    r"merged|split|deleted|modified|retired|revised|relaxed|clarified|reworded|simplified|extended|disabled|"
    r"enabled|rewritten|adopted)\b|\bwould you (?:\w+ )?accept\b|\bif (?:you|people|everybody|"
    r"everyone)(?: are|'re| is) (?:ok|okay|fine|happy) with\b|\bdo (?:we|you|people|others) (?:all )?agree\b|"
    r"\b(?:is|would) (?:that|this|it) (?:be )?(?:ok|okay|reasonable|acceptable|a (?:good|bad|"
    r"reasonable) (?:idea|approach))\b[^.]{0,40}\?|\bi(?:'m| am)? (?:therefore |also |"
    r"just )?wonder(?:ing)? (?:if|whether) (?:we|it|this|that|the)\b|\b(?:may|might|"
    r"would) (?:also )?(?:be a good idea|make sense) to\b|\bi(?:'d| would) (?:argue|prefer)\b|\b(?:text|"
    r"section(?: \S+)?|draft|document|spec|specification|we) (?:\w+ )?(?:should|ought to|"
    r"needs to) (?:\w+ )?(?:say|state|mention|specify|require|recommend|allow|forbid|explain|use|include|"
    r"refer|clarify|be (?:a|an|in|more|clear\w*))\b|\bwhy (?:don't|do not) we\b|\bwhy not (?:just |"
    r"simply )?\w[^?]{4,120}\?|(?:^\W{0,4}|[,;:.] |\bso |\bthen )let's (?!see|say|assume|hope|take an?|look|"
    r"suppose|call|not\b)\w|\bwe (?:really |definitely |probably |also |just )?(?:should|"
    rf"ought to) (?:\w+ )?{_ACTS}\b|\bi(?:'d| would)? (?:strongly )?recommend (?:to |that we |we |\w+ing\b)|"
    r"\bplease consider (?:\w+ing|this|the following)\b"
)
_EARLY = 6
"""The number of mails that may propose if the first one does not."""
_MAX_LOG = 20_000
_MAX_PROPOSING = 60
"""The number of sentences of a mail in which plain proposing words are looked for."""
_SHORT, _LONG = 120, 1_500
"""Letters of a mail: too few to propose anything, and so many that its quotes do not matter."""


@dataclass(slots=True)
class Proposal:
    """A proposal in its thread. `mails` are the numbers of all mails that make or repeat it."""

    mail: LinkedMail
    form: PropositionForm
    person: str
    mails: set[int]
    words: OwnSentence | None
    owners: set[str]
    """The proposer and the author of the patch, whose word changes or withdraws it."""
    proposers: set[str]
    """The owners and everybody who brings another patch. None of them counts as a voice."""
    namesakes: set[str] = field(default_factory=set)
    """Addresses with an owner's name, which neither support it nor speak for anybody."""


def find_proposal(thread: LinkedThread) -> Proposal:
    """Return the proposal of a thread. Every thread has one, though its mail may propose nothing."""
    mail, form = _mail_and_form(thread)
    mails = {mail.number}
    owners, proposers = {mail.person}, set[str]()
    if form is PropositionForm.PATCH:
        brought = [
            other for other in thread.mails if other.is_patch or (other.has_diff and not other.is_reply)
        ]
        for patch in brought:
            if patch.person == mail.person and _is_of_the_work(patch, mail, mails):
                mails.add(patch.number)
        # A person who brings another patch is no voice. Only the proposal's own mails can name authors.
        proposers = {patch.person for patch in brought}
        authors = thread.people.authors
        owners.update(authors[number] for number in mails if number in authors)
    elif mail is not thread.root and is_answer(thread.root):
        # In an archive that lost its order, answers hang on a first mail that is itself an answer.
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
    """Return other addresses with an owner's full name: the same person, or a person who took the name."""
    voices = {thread.people.voice(mail.number) for mail in thread.mails if mail.person in owners}
    others = {mail.person for mail in thread.mails if thread.people.voice(mail.number) in voices}
    return others - owners


def _is_of_the_work(patch: LinkedMail, first: LinkedMail, mails: set[int]) -> bool:
    """Return whether a patch is a part or version of what `first` brings, and not an unrelated patch."""
    if patch.version > 1:
        return True
    if patch.is_part:
        return patch.parent is None or patch.parent in mails
    words, others = (set(word_key(split_subject(mail.mail.subject).text).split()) for mail in (patch, first))
    return len(words & others) * 2 >= min(len(words), len(others))


def _mail_and_form(thread: LinkedThread) -> tuple[LinkedMail, PropositionForm]:
    root = thread.root
    if tells_a_result(root.mail.subject):
        return root, PropositionForm.TEXT
    if VOTE_TAG.search(root.mail.subject) or _is_ballot(root):
        return root, PropositionForm.VOTE
    candidates = [mail for mail in thread.mails if thread.is_taken_up(mail)] or [root]
    patch = next((mail for mail in candidates if mail.is_patch), None)
    if patch is not None:
        return patch, PropositionForm.PATCH
    calling = root if _calls_by_subject(root) else _asking(thread, candidates)
    if calling is not None:
        return calling, PropositionForm.CALL
    untagged = _untagged_patch(thread, candidates)
    if untagged is not None:
        return untagged, PropositionForm.PATCH
    says_little = is_answer(root) or len(root.words) < _SHORT
    return _best_proposal(thread, candidates) if says_little else root, PropositionForm.TEXT


def _asking(thread: LinkedThread, candidates: list[LinkedMail]) -> LinkedMail | None:
    """Return the first early mail that formally asks the group, if its writer may."""
    asking = next((mail for mail in candidates[:_EARLY] if any(map(asks_group, mail.sentences))), None)
    return asking if asking is not None and _may_call(thread, asking) else None


def _calls_by_subject(mail: LinkedMail) -> bool:
    subject = mail.mail.subject
    return not mail.is_reply and bool(_CALL_SUBJECT.search(subject)) and not _OF_A_CALL.search(subject)


def _may_call(thread: LinkedThread, asking: LinkedMail) -> bool:
    """Return whether the call does not replace an earlier proposal that people already answer."""
    root = thread.root
    if asking.person == root.person or is_answer(root) or thread.people.role(asking.number) is not None:
        return True
    between = thread.mails[1 : asking.number]
    return not root.has(PROPOSES) or not any(
        mail.has(cue)
        for mail in between
        if mail.parent == root.number
        for cue in (SUPPORTS, AGREES, APPROVES, OPPOSES)
    )


def acts_in(words: str) -> set[str]:
    """Return the acts in the words, by verb stem: "removal" and "removing" are one act."""
    return set(_ACT_STEMS.findall(words))


def tells_a_result(subject: str) -> bool:
    """Return whether the subject tells how a vote ended. The thread then has no votes."""
    return bool(RESULT_TAG.search(subject) or _RESULT.search(subject))


def _untagged_patch(thread: LinkedThread, candidates: list[LinkedMail]) -> LinkedMail | None:
    """Return a patch that only its subject or text shows, or that answers a report."""
    root = thread.root
    if is_signed_patch(root):
        return root
    if re.search(r"\bpatch\b", root.mail.subject, re.IGNORECASE):
        diff = next((mail for mail in candidates[:4] if mail.has_diff), None)
        if diff is not None:
            return diff
    if root.has(PROPOSES):
        return None
    return next((mail for mail in candidates if mail.has_diff and mail.person != root.person), None)


def is_signed_patch(mail: LinkedMail) -> bool:
    """Return whether the mail brings a change with its author's sign-off, whatever its subject."""
    return mail.has_diff and not mail.is_reply and "\nSigned-off-by: " in mail.mail.text[:_MAX_LOG]


def _is_ballot(mail: LinkedMail) -> bool:
    """Return whether the mail is a ballot paper, with lines such as `[ ] +1`."""
    return len(re.findall(r"^\s*\[ ?\]\s*[+-] ?[01]\b", mail.mail.text[:20_000], re.MULTILINE)) > 1


def is_answer(mail: LinkedMail) -> bool:
    """Return whether a first mail is itself an answer, because the thread was cut or lost its order."""
    first = mail.sentences[0] if mail.sentences else None
    quotes_much = bool(mail.mail.quotes) and len(mail.words) < _LONG
    return mail.is_reply or quotes_much or first is None or AGREES.finds(first) or SUPPORTS.finds(first)


def asks_group(sentence: OwnSentence) -> bool:
    """Return whether the sentence formally asks the group. Reviews and reports only mention last calls."""
    return (
        ASKS_GROUP.finds(sentence) and not _LAST_CALL_IN_PASSING.finds(sentence) and not may_close(sentence)
    )


def _best_proposal(thread: LinkedThread, candidates: list[LinkedMail]) -> LinkedMail:
    root = thread.root
    first = root.sentences[0] if root.sentences else None
    assents = first is not None and (AGREES.finds(first) or SUPPORTS.finds(first))
    eligible = [mail for mail in candidates[:_EARLY] if not (assents and mail.person == root.person)]
    best = max(eligible or candidates, key=_proposing)
    return best if _proposing(best) > 0 or assents else root


def _proposing(mail: LinkedMail) -> float:
    return sum(map(PROPOSES.finds, mail.sentences)) - 0.2 * mail.number


def _words(mail: LinkedMail, form: PropositionForm) -> OwnSentence | None:
    """Return the best sentence: a sentence that asks, else the first that proposes, else the first."""
    wanted = (asks_group, PROPOSES.finds) if form is not PropositionForm.PATCH else ()
    for test in wanted:
        for sentence in mail.sentences[:40]:
            if test(sentence):
                return sentence
    return next((sentence for sentence in mail.sentences[:40] if not _NO_MATTER.match(sentence.text)), None)


_MOST_ASKING, _FEW_WORDS = 40, 8


def matter_of(proposal: Proposal) -> str:
    """Return the words of the proposal: the subject and the sentences that ask, or the best sentence."""
    sentences = proposal.mail.sentences[:_MOST_ASKING]
    asking = [sentence.folded for sentence in sentences if asks_group(sentence)]
    words = asking or ([proposal.words.folded] if proposal.words else [])
    names_nothing = bool(asking) and all(len(text.split()) <= _FEW_WORDS for text in asking)
    if names_nothing and not acts_in(" ".join(words)):
        # "This is a poll." names no act, so the sentences that propose are added.
        words += [
            sentence.folded for sentence in sentences if PROPOSES.finds(sentence) and acts_in(sentence.folded)
        ]
    return " ".join([split_subject(proposal.mail.mail.subject).text.lower(), *words])


_FIRMLY = Cue(
    "propose|proposing|suggest|proposal|should|how|think|add|see|have|change|remove",
    r"\b(?:i|we)(?:'d| would|'m| am)? (?:like to |want to |hereby )?(?:propos(?:e|ing)|suggest)\b|"
    r"\bshould we\b|\bhow about\b|\bwhat do you (?:all )?think about\b|"
    r"\bi(?:'d| would) (?:like|love) to (?:add|see|have|change|remove|propose)\b",
)


_LEAST_ASKED = 5


def asks_or_proposes(form: PropositionForm, genre: Genre, words: str) -> bool:
    """Return whether the words alone state what a call or a proposal in plain text is about."""
    sentence = OwnSentence(0, 0, 0, len(words), words, -1, opens_paragraph=True)
    if genre not in {Genre.CALL, Genre.PROPOSAL} or len(words.split()) < _LEAST_ASKED or words.endswith(":"):
        return False
    if form is PropositionForm.CALL:
        return asks_group(sentence)
    return form is PropositionForm.TEXT and _FIRMLY.finds(sentence)


def has_proposal(proposal: Proposal) -> bool:
    """Return whether there is a proposal that positions can be for or against."""
    if proposal.form is PropositionForm.PATCH:
        return proposal.mail.is_patch or proposal.mail.has_diff
    if proposal.form is not PropositionForm.TEXT:
        return True
    return not tells_a_result(proposal.mail.mail.subject) and any(
        map(PROPOSES.finds, proposal.mail.sentences)
    )


def proposes_plainly(sentence: OwnSentence) -> bool:
    return _PLAIN_PROPOSAL.search(sentence.folded) is not None


def proposes_something(proposal: Proposal) -> bool:
    """Return whether plain words or a subject tag propose something although no form does."""
    # An answer from a cut thread proposes nothing. It takes up another mail's proposal.
    return (
        proposal.form is PropositionForm.TEXT
        and not proposal.mail.is_reply
        and (
            bool(_PROPOSING_SUBJECT.search(proposal.mail.mail.subject))
            or any(map(proposes_plainly, proposal.mail.sentences[:_MAX_PROPOSING]))
        )
    )


def result_subject(thread: LinkedThread) -> str | None:
    """Return the subject of the vote whose result this thread brings in a thread of its own."""
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
# A subject that names a change is rarely a mere question, however much its mail asks.
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
_PROPOSES_FIRMLY = Cue(
    "propose|suggest|proposal|think|should",
    r"\bi(?:'d| would)? (?:like to )?(?:propose|suggest)\b(?! (?:you|that you))|"
    r"\bmy proposal\b|\bwhat do you (?:all )?think\b|\bi think we should\b",
)

# A person who asks whether something should be different may propose it.
_HINTS = Cue(
    "should|could|can|why|like|would|let's|support|feature|add|better",
    r"\bshould (?:we|be|it)\b|\b(?:could|can) we\b|\bwhy (?:don't|not)\b|"
    r"\bit would be\b|\blet's\b|\b(?:would|'d) like to (?:add|see|have|change|make|allow)\b|"
    r"\b(?:add|adding) (?:\w+ )?support\b|\bfeature\b|\bbetter (?:to|way)\b",
)


@dataclass(slots=True)
class _Opening:
    """The form of the first mail."""

    subject: str
    tags: str
    sentences: list[OwnSentence]
    tells_a_result: bool
    starts: bool
    """The thread is seen from its start, so its first mail answers nothing."""

    def has(self, cue: Cue, most: int = 20) -> bool:
        return any(map(cue.finds, self.sentences[:most]))

    @property
    def asks(self) -> bool:
        return any(sentence.asks for sentence in self.sentences[:25])


_CONFIDENT, _UNSURE = 0.92, 0.5


def read_genre(thread: LinkedThread, proposal: Proposal) -> ReadGenre:
    kind, sure = _kind(thread, proposal)
    return ReadGenre(kind, _CONFIDENT if sure else _UNSURE, Tier.SAID if sure else Tier.REMARK)


def _kind(thread: LinkedThread, proposal: Proposal) -> tuple[Genre, bool]:
    root = thread.root
    opening = _Opening(
        subject=split_subject(root.mail.subject).text,
        tags=" ".join(_SUBJECT_TAGS.findall(root.mail.subject)),
        sentences=root.sentences,
        tells_a_result=tells_a_result(root.mail.subject),
        starts=not root.is_reply and root.mail.reply_to is None and not root.mail.references,
    )
    if proposal.form is PropositionForm.VOTE:
        return Genre.CALL, True
    signed = proposal.mail is root and is_signed_patch(root) and not _BUG.search(root.mail.subject)
    if proposal.mail.is_patch or signed:
        # If another person brings the patch in answer to a report, the genre is not sure.
        return Genre.PATCH, proposal.mail.person == root.person or not opening.starts
    return _by_form(opening) or _by_call(thread, proposal, opening) or _by_words(thread, proposal, opening)


def _by_form(opening: _Opening) -> tuple[Genre, bool] | None:
    """Return the genre by templates and tags of software or custom."""
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


def _by_call(thread: LinkedThread, proposal: Proposal, opening: _Opening) -> tuple[Genre, bool] | None:
    if proposal.form is not PropositionForm.CALL:
        return None
    if proposal.mail is thread.root or is_answer(thread.root):
        # A notice that asks for something in passing is first of all a notice, so the genre is not sure.
        return Genre.CALL, not opening.has(ANNOUNCES, 3)
    return (Genre.REPORT if opening.has(REPORTS, 8) else Genre.PROPOSAL), False


def _by_words(thread: LinkedThread, proposal: Proposal, opening: _Opening) -> tuple[Genre, bool]:
    brought = proposal.form is PropositionForm.PATCH and (proposal.mail is thread.root or not opening.starts)
    if brought or (opening.starts and re.search(r"\bpatch\b", opening.subject, re.IGNORECASE)):
        return Genre.PATCH, False
    if re.search(r"\b(?:RFC|PROPOSAL)\b", opening.tags) or _PROPOSAL.search(opening.subject):
        return Genre.PROPOSAL, opening.starts and not _QUESTION.search(opening.subject)
    if opening.starts and (
        re.search(r"\bBUG\b", opening.tags, re.IGNORECASE)
        or re.match(r"bug\b", opening.subject, re.IGNORECASE)
    ):
        return Genre.REPORT, True
    return _by_asking(thread, proposal, opening)


def _by_asking(thread: LinkedThread, proposal: Proposal, opening: _Opening) -> tuple[Genre, bool]:
    wants_help = opening.has(ASKS_HELP)
    subject_asks = bool(_QUESTION.search(opening.subject))
    asks_for_help = opening.starts and wants_help and (opening.asks or subject_asks)
    # On lists about a text "how about ..." proposes a change of the text.
    if asks_for_help and thread.preset is not Preset.IETF and not opening.has(_PROPOSES_FIRMLY):
        named = _BUG.search(opening.subject) or _CHANGE.search(opening.subject)
        puts = opening.has(PROPOSES) or opening.has(_HINTS)
        return Genre.QUESTION, not puts and not named
    if any(map(_PROPOSES_FIRMLY.finds, proposal.mail.sentences[:12])):
        return Genre.PROPOSAL, proposal.mail is thread.root and not subject_asks and not wants_help
    return _by_default(thread, proposal, opening, wants_help=wants_help)


def _by_default(
    thread: LinkedThread, proposal: Proposal, opening: _Opening, *, wants_help: bool
) -> tuple[Genre, bool]:
    """Return a genre by guess, which is sure only for a subject that asks."""
    proposes = opening.has(PROPOSES)
    if not opening.starts:
        puts = thread.preset is Preset.IETF or any(map(PROPOSES.finds, proposal.mail.sentences[:8]))
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
