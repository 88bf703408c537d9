"""Detects mail that gives orders to the program that reads it.

No mail is withheld. In such a thread, nothing is shown on the model's word alone.
"""

import re
import unicodedata
from functools import lru_cache

from shared.reading.linked_thread import LinkedThread

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_READER = (
    r"(?:a\.?i\.?|assistants?|chat ?bots?|chatgpt|gpt(?:-?\d\w*)?|claude|gemini|llms?|"
    r"(?:large )?language models?|model|summari[sz]er|summari[sz]ation (?:model|system|tool|bot)|bots?|agent)"
)
_IGNORE = (
    r"(?:ignore|disregard|forget|override|bypass|drop|discard|skip)\b.{0,40}\b(?:instructions?|prompts?|"
    r"rules|directions?|guidelines|schema|context|training|everything above|all of the above|"
    r"what (?:you were|came))"
)
_ORDER = r"(?:^|[.!?:;,\n]\s{0,3}|\b(?:please|must|should|shall|you|and|to|just) )"
_ORDERS_TO_READER = (
    rf"\b{_IGNORE}",
    (
        r"\b(?:new|updated|real|actual|following|these|your) (?:system )?(?:instructions?|prompt|"
        r"directive)s?\s*(?:is|are|follow|:)"
    ),
    r"\bsystem prompt\b|\bprompt injection\b|\bdeveloper mode\b|\bjailbreak|\bdo anything now\b",
    (
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext|start_header_id|eot_id)\b|\[/?INST\]|"
        r"<<\s*/?SYS\s*>>"
    ),
    r"^\W{0,6}(?:system|assistant|developer|tool)\s*(?:message|prompt|note)?\s*[:>\]]",
    r"^#{1,6}\s*(?:system|instructions?|assistant|response|output|task)\b",
    (
        r"[\"'](?:genre|outcome|has_consensus|positions|objections|stance|key_points|open_issues|proposition|"
        r"decisions)[\"']\s*:"
    ),
    r"[\"']role[\"']\s*:\s*[\"'](?:system|assistant|user|developer|tool)",
    r"[\"'](?:tool_calls?|function_call|response_format)[\"']\s*:",
    (
        r"\b(?:to|for|dear|hey|hi|hello|attention|note (?:to|for)|message (?:to|for)|reminder (?:to|for)|"
        rf"instructions? (?:to|for)) (?:the |any |all |you,? (?:the )?)?{_READER}\b"
    ),
    rf"\byou(?:'re| are) (?:now |really |actually )?(?:an? |the )?(?:\w+ )?{_READER}\b",
    rf"\bas an? {_READER}\b|\bif you(?:'re| are) an? {_READER}\b",
    (
        rf"\b{_READER}s? (?:that|who|which) (?:reads?|summari[sz]es?|process(?:es)?|parses?)\b|"
        r"\bwho(?:ever)? (?:reads|summari[sz]es) this (?:thread|mail|message|list)\b"
    ),
    (
        rf"\b(?:any|every|the|this) {_READER} (?:reading|processing|summari[sz]ing|must|should|shall|has to|"
        r"needs to|will)\b"
    ),
    (
        r"\b(?:when|while|before|after|once|if) (?:you )?(?:summari[sz]\w*|writ\w+ (?:the|your) (?:summary|"
        r"report)|produc\w+ (?:the|your)|generat\w+|answering|reading this)\b"
    ),
    (
        r"\b(?:in|into|for|from) (?:your|the) (?:summary|summari[sz]ation|answer|output|json|response|report|"
        r"reading)\b.{0,60}\b(?:say|state|write|list|mark|report|include|claim|record|count|set|put|omit|"
        r"leave out|add|show|must|should)\b"
    ),
    (
        r"\b(?:say|state|write|list|mark|report|record|count|set|put|omit|leave out|show|treat|classify|"
        r"label|output|answer|respond|reply|return|print|emit)\b.{0,80}\b(?:in|into|for|from) (?:your|"
        r"the) (?:summary|summari[sz]ation|output|json|report|reading)\b"
    ),
    (
        r"\b(?:set|mark|report|record|treat|classify|label|count|list|output|"
        r"return)\b.{0,60}\b(?:as )?(?:accepted|rejected|has_consensus|consensus (?:as |to )?(?:true|false|"
        r"reached)|support(?:ers?|ing)?|oppos(?:e|ed|ing)|object(?:ing|ors?|ions?)|unanimous|withdrawn|"
        r"resolved)\b.{0,60}\b(?:everyone|everybody|all|nobody|each|person|people|participants?|senders?|"
        r"summary|positions?|outcome|stances?|regardless)\b"
    ),
    (
        _ORDER + r"(?:set|mark|report|record|treat|classify|label|count|list)\b.{0,40}\b(?:everyone|"
        r"everybody|all (?:of )?(?:the )?(?:participants|senders|people|others|mails|authors)|each (?:sender|"
        r"person|participant|author)|every (?:sender|person|participant|author|position|stance|objection)|"
        r"the (?:outcome|stances?|positions?|genre))\b.{0,60}\b(?:as|to|for|is|are)\b"
    ),
    (
        r"\b(?:do not|don't|never|must not) (?:mention|report|list|show|quote|cite|include|"
        r"count)\b.{0,60}\b(?:objections?|oppos\w+|disagree\w*|positions?|stances?|concerns?|mails? (?:of|by|"
        r"from))\b"
    ),
    (
        r"\b(?:respond|reply|answer|output|return)\b.{0,30}\b(?:only |just )?(?:with|in)\b.{0,30}\b(?:json|"
        r"the following|this (?:exact )?(?:text|object))\b"
    ),
    (
        r"\b(?:base64|rot13|decode)\b.{0,60}\b(?:follow|obey|execute|instruct\w*|do what)\b|"
        r"\bobey\b.{0,40}\b(?:this|these|me|following)\b"
    ),
    (
        r"\b(?:ignoriere|vergiss|ignora|ignorez|oublie[zr]?|olvida|negeer)\b.{0,60}\b(?:anweisung\w*|"
        r"instru[ck]\w+|regeln|consignes|prompt|reglas|aanwijzing\w*)"
    ),
    (
        r"\u5ffd\u7565.{0,12}(?:\u6307\u4ee4|\u6307\u793a|\u8bf4\u660e)|\u7121\u8996.{0,12}\u6307\u793a|"
        r"\u6307\u793a.{0,8}\u7121\u8996|"
        r"\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439.{0,40}\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446"
    ),
)
_WORDINGS = [re.compile(wording, re.IGNORECASE | re.MULTILINE) for wording in _ORDERS_TO_READER]
_ORDERED = re.compile(r"ignore|instruct|system|prompt|assistant|summar|disregard|obey", re.IGNORECASE)
_SPACED = re.compile(r"(?<!\w)(?:\w[ ._*-]){6,}\w(?!\w)")
_MAX_CHARS = 120_000


@lru_cache(maxsize=8)
def orders_in(thread: LinkedThread) -> tuple[int, ...]:
    """Return the numbers of the mails that give orders to a program that reads them."""
    return tuple(
        mail.number
        for mail in thread.mails
        if any(map(speaks_to_reader, (mail.mail.text, mail.mail.subject, mail.mail.name)))
    )


def speaks_to_reader(text: str) -> bool:
    """Return whether a text gives orders to a program that reads it, however spelled or hidden."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text[:_MAX_CHARS]))
    one_line = " ".join(plain.split())
    gives_orders = any(wording.search(form) for wording in _WORDINGS for form in (plain, one_line))
    return gives_orders or _is_spelled_apart(plain) or _has_tag_text(text)


def _is_spelled_apart(text: str) -> bool:
    return any(_ORDERED.search(re.sub(r"[ ._*-]", "", match[0])) for match in _SPACED.finditer(text))


def _has_tag_text(text: str) -> bool:
    """Return whether invisible tag characters spell a text."""
    return sum("\U000e0020" <= letter <= "\U000e007e" for letter in text[:_MAX_CHARS]) > 4  # noqa: PLR2004
