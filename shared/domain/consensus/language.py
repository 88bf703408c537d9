"""Which language a mail is in, as far as the reader needs it: English, or one that it must not judge."""

import re
from collections import Counter
from collections.abc import Iterable

ENGLISH, UNKNOWN = "en", "und"
_SAMPLE = 1_500
_LEAST_WORDS = 8
"""Fewer words than this ("+1", "Danke, passt") show no language of their own."""
_LEAST_SHARE = 0.08
_LEAST_FOUND = 3
"""Different function words: one alone may be a name, or the end of an address."""
_PLAINLY = 4
_GLANCE = 400
_NO_PROSE = re.compile(r"\S*[@/\\_=<>{}]\S*|^[a-z]+(?:-[a-z]+)*-by:.*$|\w+\.\w+\S*", re.MULTILINE)
"""Addresses, links, code and trailers are in no language."""
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
)
# Words that hold a sentence together, none of them shared with English.
_FUNCTION_WORDS = {
    ENGLISH: "the and of to is that it for with this be are not have you we as was but if would should from "
    "they what there",
    "de": "und der die das nicht ist ich wir mit auf ein eine dass auch wie wird sind haben aber oder nur "
    "noch sich f\u00fcr werden",
    "fr": "le la les des est une que pas pour dans qui sur avec nous vous mais ce cette sont par aussi je "
    "c'est au",
    "es": "el los las que una para con por pero como est\u00e1 este esta son del muy tambi\u00e9n "
    "m\u00e1s hay ser yo nosotros",
    "it": "il che non per una con sono questo questa della anche come pi\u00f9 ma gli nel alla essere ho "
    "abbiamo",
    "pt": "que n\u00e3o uma para com os por mais como mas isso est\u00e1 s\u00e3o tamb\u00e9m da ao "
    "voc\u00ea muito eu n\u00f3s",
    "nl": "het een niet van dat voor met zijn ook maar wij deze wordt aan bij nog geen naar kan ik",
    "sv": "och att det inte som med f\u00f6r \u00e4r jag vi men har till kan den ett om p\u00e5 ska",
    "pl": "nie jest si\u0119 na \u017ce jak ale dla przez tak czy jest po od tylko mo\u017ce ten tego",
}
_MANY_WORDS = 15
_ENGLISH_WORDS = frozenset(_FUNCTION_WORDS[ENGLISH].split()) | {"my", "or", "can", "when", "which"}
_OWNERS = {word: language for language, words in reversed(_FUNCTION_WORDS.items()) for word in words.split()}
_PLAIN_WORDS = frozenset(word for word, language in _OWNERS.items() if language == ENGLISH)
_OTHER_WORDS = frozenset(_OWNERS) - _PLAIN_WORDS


def language_of(text: str) -> str:
    """The language's code, or `und` where the text shows none."""
    sample = text[:_SAMPLE].lower()
    # Most mail is English, and shows it at once.
    if _is_plainly_english(sample[:_GLANCE]) or _is_plainly_english(sample):
        return ENGLISH
    return _looked_into(_NO_PROSE.sub(" ", sample))


def _is_plainly_english(sample: str) -> bool:
    words = set(sample.split())
    return len(_PLAIN_WORDS & words) >= _PLAINLY and _OTHER_WORDS.isdisjoint(words)


def is_readable(text: str, language: str) -> bool:
    """English, or too little of anything to tell: prose of many words, none of them English, is not read."""
    if language != UNKNOWN:
        return language == ENGLISH
    words = _WORD.findall(_NO_PROSE.sub(" ", text[:_SAMPLE].lower()))
    return len(words) < _MANY_WORDS or not _ENGLISH_WORDS.isdisjoint(words)


def _looked_into(sample: str) -> str:
    letters = _WORD.findall(sample)
    total = sum(map(len, letters))
    for code, script in _SCRIPTS:
        if total and len(script.findall(sample)) > total * 0.3:
            return code
    if len(letters) < _LEAST_WORDS:
        return UNKNOWN
    words = [word for word in letters if word in _OWNERS]
    counts = Counter(map(_OWNERS.__getitem__, words))
    if not counts:
        return UNKNOWN
    best, count = counts.most_common(1)[0]
    if counts[ENGLISH] >= count:
        return ENGLISH
    different = len({word for word in words if _OWNERS[word] == best})
    return best if different >= _LEAST_FOUND and count >= len(letters) * _LEAST_SHARE else UNKNOWN


def main_language(languages: Iterable[str]) -> str:
    """The language of most mails; English where none shows one."""
    counts = Counter(language for language in languages if language != UNKNOWN)
    return counts.most_common(1)[0][0] if counts else ENGLISH
