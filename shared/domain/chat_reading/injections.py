"""Mails that speak to the program that reads them. A model never sees them; the rules read them as any other.

No list of wordings is complete. What passes it still meets the checks of `checked.py`: nothing that a model
says counts without a person's own words, whatever made it say so.
"""

import re
import unicodedata

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_READER = (
    r"(?:a\.?i\.?|assistants?|chat ?bots?|chatgpt|gpt(?:-?\d\w*)?|claude|gemini|llms?|(?:large "
    r")?language models?|model|summari[sz]er|"
    r"summari[sz]ation (?:model|system|tool|bot)|bots?|agent)"
)
_TOLD = (
    r"(?:ignore|disregard|forget|override|bypass|drop|discard|skip)\b.{0,40}\b(?:instructions?|prompts?|"
    r"rules|directions?|guidelines|"
    r"schema|context|training|everything above|all of the above|what (?:you were|came))"
)
_ORDER = r"(?:^|[.!?:;,\n]\s{0,3}|\b(?:please|must|should|shall|you|and|to|just) )"
Wording = tuple[tuple[str, ...], re.Pattern[str]]


def _wording(triggers: str, pattern: str) -> Wording:
    """A wording, with the letters without which it cannot match: most mails have few of them."""
    return tuple(triggers.split("|")), re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_READERS = "ai|a.i|assistant|bot|gpt|claude|gemini|llm|model|summari|agent"
_WORDINGS = (
    _wording(
        "ignore|disregard|forget|override|bypass|drop|discard|skip",
        rf"\b{_TOLD}",
    ),
    _wording(
        "instruction|prompt|directive",
        r"\b(?:new|updated|real|actual|following|these|your) (?:system )?(?:instructions?|prompt|"
        r"directive)s?\s*(?:is|are|follow|:)",
    ),
    _wording(
        "prompt|developer mode|jailbreak|anything now",
        r"\bsystem prompt\b|\bprompt injection\b|\bdeveloper mode\b|\bjailbreak|\bdo anything now\b",
    ),
    _wording(
        "<|[inst|[/inst|<s|</|<a|<u|<e|<<",
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext|start_header_id|eot_id)\b|\[/?INST\]|"
        r"<<\s*/?SYS\s*>>",
    ),
    _wording(
        "system|assistant|developer|tool",
        r"^\W{0,6}(?:system|assistant|developer|tool)\s*(?:message|prompt|note)?\s*[:>\]]",
    ),
    _wording(
        "#",
        r"^#{1,6}\s*(?:system|instructions?|assistant|response|output|task)\b",
    ),
    _wording(
        "'|\"",
        r"[\"'](?:genre|outcome|has_consensus|positions|objections|stance|key_points|open_issues|"
        r"proposition|decisions)[\"']\s*:",
    ),
    _wording(
        "role",
        r"[\"']role[\"']\s*:\s*[\"'](?:system|assistant|user|developer|tool)",
    ),
    _wording(
        "tool_call|function_call|response_format",
        r"[\"'](?:tool_calls?|function_call|response_format)[\"']\s*:",
    ),
    _wording(
        _READERS,
        rf"\b(?:to|for|dear|hey|hi|hello|attention|note (?:to|for)|message (?:to|for)|reminder (?:to|for)|"
        rf"instructions? (?:to|for)) (?:the |any |all |you,? (?:the )?)?{_READER}\b",
    ),
    _wording(
        _READERS,
        rf"\byou(?:'re| are) (?:now |really |actually )?(?:an? |the )?(?:\w+ )?{_READER}\b",
    ),
    _wording(
        _READERS,
        rf"\bas an? {_READER}\b|\bif you(?:'re| are) an? {_READER}\b",
    ),
    _wording(
        _READERS + "|who",
        rf"\b{_READER}s? (?:that|who|which) (?:reads?|summari[sz]es?|process(?:es)?|parses?)\b|"
        rf"\bwho(?:ever)? (?:reads|summari[sz]es) this (?:thread|mail|message|list)\b",
    ),
    _wording(
        _READERS,
        rf"\b(?:any|every|the|this) {_READER} (?:reading|processing|summari[sz]ing|must|should|shall|has to|"
        rf"needs to|will)\b",
    ),
    _wording(
        "summar|writ|produc|generat|answering|reading this",
        r"\b(?:when|while|before|after|once|if) (?:you )?(?:summari[sz]\w*|writ\w+ (?:the|your) (?:summary|"
        r"report)|produc\w+ (?:the|your)|generat\w+|answering|reading this)\b",
    ),
    _wording(
        "summar|answer|output|json|response|report|reading",
        r"\b(?:in|into|for|from) (?:your|the) (?:summary|summari[sz]ation|answer|output|json|response|"
        r"report|reading)\b.{0,60}\b(?:say|state|write|list|mark|report|include|"
        r"claim|record|count|set|put|omit|leave out|add|show|must|should)\b",
    ),
    _wording(
        "summar|output|json|report|reading",
        r"\b(?:say|state|write|list|mark|report|record|count|set|put|omit|leave out|show|treat|classify|"
        r"label|output|answer|respond|reply|return|print|emit)\b"
        r".{0,80}\b(?:in|into|for|from) (?:your|the) (?:summary|summari[sz]ation|output|json|report|"
        r"reading)\b",
    ),
    _wording(
        "accepted|rejected|consensus|support|oppos|object|unanimous|withdrawn|resolved",
        r"\b(?:set|mark|report|record|treat|classify|label|count|list|output|return)\b.{0,60}\b(?:as "
        r")?(?:accepted|rejected|has_consensus|consensus (?:as |to )?(?:true|false|reached)|"
        r"support(?:ers?|ing)?|oppos(?:e|ed|ing)|object(?:ing|ors?|ions?)|unanimous|withdrawn|"
        r"resolved)\b.{0,60}\b(?:everyone|everybody|all|nobody|each|person|people|"
        r"participants?|senders?|summary|positions?|outcome|stances?|regardless)\b",
    ),
    _wording(
        "everyone|everybody|all |each |every |the outcome|the stance|the position|the genre",
        _ORDER + r"(?:set|mark|report|record|treat|classify|label|count|list)\b.{0,40}\b(?:everyone|"
        r"everybody|all "
        r"(?:of )?(?:the )?(?:participants|senders|people|others|mails|authors)|each (?:sender|person|"
        r"participant|author)|"
        r"every (?:sender|person|participant|author|position|stance|objection)|the (?:outcome|stances?|"
        r"positions?|genre))\b.{0,60}\b(?:as|to|for|is|are)\b",
    ),
    _wording(
        "mention|report|list|show|quote|cite|include|count",
        r"\b(?:do not|don't|never|must not) (?:mention|report|list|show|quote|cite|include|"
        r"count)\b.{0,60}\b(?:objections?|oppos\w+|disagree\w*|positions?|stances?|concerns?|mails? (?:of|"
        r"by|from))\b",
    ),
    _wording(
        "json|following|this ",
        r"\b(?:respond|reply|answer|output|return)\b.{0,30}\b(?:only |just )?(?:with|in)\b.{0,30}\b(?:json|"
        r"the following|this (?:exact )?(?:text|object))\b",
    ),
    _wording(
        "base64|rot13|decode|obey",
        r"\b(?:base64|rot13|decode)\b.{0,60}\b(?:follow|obey|execute|instruct\w*|do what)\b|"
        r"\bobey\b.{0,40}\b(?:this|these|me|following)\b",
    ),
    _wording(
        "ignor|vergiss|oublie|olvida|negeer",
        r"\b(?:ignoriere|vergiss|ignora|ignorez|oublie[zr]?|olvida|negeer)\b.{0,60}\b(?:anweisung\w*|"
        r"instru[ck]\w+|regeln|consignes|prompt|reglas|aanwijzing\w*)",
    ),
    _wording(
        "\u5ffd\u7565|\u7121\u8996|\u0438\u0433\u043d\u043e\u0440\u0438\u0440",
        r"\u5ffd\u7565.{0,12}(?:\u6307\u4ee4|\u6307\u793a|\u8bf4\u660e)|\u7121\u8996.{0,12}\u6307\u793a|"
        r"\u6307\u793a.{0,8}\u7121\u8996|"
        r"\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439.{0,40}\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446",
    ),
)
_ORDERED = re.compile(r"ignore|instruct|system|prompt|assistant|summar|disregard|obey", re.IGNORECASE)
_SPACED = re.compile(r"(?<!\w)(?:\w[ ._*-]){6,}\w(?!\w)")
_MAX_CHARS = 120_000


def speaks_to_reader(text: str) -> bool:
    """Whether a text gives orders to a program that reads it, however it is spelled or hidden."""
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text[:_MAX_CHARS]))
    one_line = " ".join(plain.split())
    return _gives_orders(plain, one_line) or _letters_apart(plain) or _hidden_many(text)


def _gives_orders(*texts: str) -> bool:
    folded = texts[0].lower()
    wordings = [wording for triggers, wording in _WORDINGS if any(trigger in folded for trigger in triggers)]
    return any(wording.search(text) for wording in wordings for text in texts)


def _letters_apart(text: str) -> bool:
    """Orders that are spelled letter by letter."""
    return any(_ORDERED.search(re.sub(r"[ ._*-]", "", match[0])) for match in _SPACED.finditer(text))


def _hidden_many(text: str) -> bool:
    """Tag characters spell text that nobody sees."""
    return sum("\U000e0020" <= letter <= "\U000e007e" for letter in text[:_MAX_CHARS]) > 4  # noqa: PLR2004
