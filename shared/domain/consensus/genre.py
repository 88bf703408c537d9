"""What kind of thread it is, by the form of its first mail: from the surest form to a default."""

import re
from dataclasses import dataclass

from shared.documents.values import Genre, Preset, PropositionForm, ReadGenre, Tier
from shared.domain.consensus.cues import ANNOUNCES, ASKS_HELP, PROPOSES, REPORTS, Cue
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.proposition import Put, is_answer, is_signed_patch, tells_a_result
from shared.domain.mail.subjects import split_subject

_SUBJECT_TAGS = re.compile(r"\[([^\]]{0,80})\]")
_ANNOUNCEMENT = re.compile(
    r"^ann(?:ounc\w*)?\b|\bannounc\w+\b|what's cooking|\bminutes\b|\bcfp\b|\breleased\b|\bcall for "
    r"(?:papers|participation)\b|\brelease announcement\b",
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
    r"\bbugs?\b|\berrat(?:um|a)\b|\bregression\b|\bsegfault\b|\bcrash\w*\b|\bbroken\b|\bfails?\b|"
    r"\berror\b|\breview of\b",
    re.IGNORECASE,
)
_TEMPLATE = Cue(
    "bug|reproduce|expect|errata|erratum|review|reviewer|reviewed|ballot",
    r"\bbug report\b|\bsteps to reproduce\b|\bwhat did you (?:expect|do before)\b|\bgen-?art\b|"
    r"\berrat(?:um|a)\b|"
    r"\b(?:review team|secdir|opsdir|tsvart|rtgdir|genart) review|\bhas entered the following ballot "
    r"position\b|\bi(?: am| have been) (?:the )?(?:assigned|selected)\b.{0,40}\breview",
)
_PUTS_FIRMLY = Cue(
    "propose|suggest|proposal|think|should",
    r"\bi(?:'d| would)? (?:like to )?(?:propose|suggest)\b(?! (?:you|that you))|\bmy proposal\b|\bwhat do "
    r"you (?:all )?think\b|\bi think we should\b",
)

# Who asks whether something should be otherwise may propose it.
_HINTS = Cue(
    "should|could|can|why|like|would|let's|support|feature|add|better",
    r"\bshould (?:we|be|it)\b|\b(?:could|can) we\b|\bwhy (?:don't|not)\b|\bit would be\b|\blet's\b|"
    r"\b(?:would|'d) like to (?:add|see|have|change|make|allow)\b|\b(?:add|adding) (?:\w+ )?support\b|"
    r"\bfeature\b|\bbetter (?:to|way)\b",
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


def read_genre(thread: LinkedThread, put: Put) -> ReadGenre:
    kind, sure = _kind(thread, put)
    return ReadGenre(kind, _CONFIDENT if sure else _UNSURE, Tier.SAID if sure else Tier.REMARK)


def _kind(thread: LinkedThread, put: Put) -> tuple[Genre, bool]:
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


def _by_call(thread: LinkedThread, put: Put, opening: _Opening) -> tuple[Genre, bool] | None:
    if put.form is not PropositionForm.CALL:
        return None
    if put.mail is thread.root or is_answer(thread.root):
        # A notice that asks for something in passing is first of all a notice.
        return Genre.CALL, not opening.has(ANNOUNCES, 3)
    return (Genre.REPORT if opening.has(REPORTS, 8) else Genre.PROPOSAL), False


def _by_words(thread: LinkedThread, put: Put, opening: _Opening) -> tuple[Genre, bool]:
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


def _by_asking(thread: LinkedThread, put: Put, opening: _Opening) -> tuple[Genre, bool]:
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


def _by_default(thread: LinkedThread, put: Put, opening: _Opening, *, wants_help: bool) -> tuple[Genre, bool]:
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
