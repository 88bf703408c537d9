"""Mark the lines of a body that are quoted from another mail or that introduce a quote."""

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from shared.mail.models import Segment, SegmentKind

NEW, QUOTE, ATTRIBUTION, SIGNATURE, FOOTER, BLANK = range(6)
_KINDS = tuple(SegmentKind)  # In the order of the marks.
CODES = {kind: code for code, kind in enumerate(_KINDS)}
# First characters to marks, for `bytes.translate`.
_FIRST_MARKS = bytes(
    QUOTE if char == ord(">") else BLANK if char == ord("\n") else NEW for char in range(256)
)
# Blank lines belong to the lines before them, so that they never split a segment.
_STRETCH = re.compile(
    rb"\x05*(?:(\x00)[\x00\x05]*|(\x01)[\x01\x05]*|(\x02)[\x02\x05]*|(\x03)[\x03\x05]*|(\x04)[\x04\x05]*)"
)
_RUNS = {mark: re.compile(re.escape(bytes([mark])) + b"+") for mark in range(6)}


class MarkedLines:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.firsts = "".join([line[:1] or "\n" for line in self.lines])
        """The first character of each line (a line end if it is empty), for fast checks."""
        self.marks = bytearray(self.firsts.encode("latin-1", "replace").translate(_FIRST_MARKS))

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self.lines)))

    def end_of(self, number: int) -> int:
        """Return the end of a line, including its line end."""
        return min(self._ends[number] + number + 1, len(self.text))

    def line_at(self, offset: int) -> int:
        return bisect_right(range(len(self.lines)), offset, key=self.end_of)

    def mark(self, start: int, end: int, mark: int) -> None:
        self.marks[start:end] = bytes([mark]) * (end - start)

    def runs(self, mark: int) -> list[tuple[int, int]]:
        return [match.span() for match in _RUNS[mark].finditer(self.marks)]

    def is_blank(self, number: int) -> bool:
        return not self.lines[number].strip()

    def segments(self) -> list[Segment]:
        if not self.marks.strip(b"\x00\x05"):
            return [Segment(SegmentKind.NEW, 0, len(self.text))]
        segments, start = [], 0
        for match in _STRETCH.finditer(self.marks):
            end = self.end_of(match.end() - 1)
            if end > start:
                segments.append(Segment(_KINDS[(match.lastindex or 1) - 1], start, end))
                start = end
        if start < len(self.text):
            segments.append(Segment(SegmentKind.NEW, start, len(self.text)))
        return segments


# ruff: noqa: RUF001 -- mail is written in other scripts, too


# Match if a rare rule can apply: indented quotes, quotes marked by initials, a classic diff.
_ODD_LINE = re.compile(r"\n(?:[ \t][ \t]{0,3}>|[A-Z][A-Za-z]{1,2}>|[0-9][0-9,]{0,12}[acd][0-9])")
_INITIALS_LINE = re.compile(r"([A-Z][A-Za-z]{1,2})>{1,5}(?: |$)")
_PROMPTS = frozenset({"SQL", "PS", "DOS", "TCL", "PSQ", "Tcl", "Irb"})
_DOCTEST = re.compile(
    r">>> (?:(?:import|from|def|class|for|if|while|with|try|print|assert|return|raise|del|lambda|async)\b.*"
    r"|@\w|[A-Za-z_][\w.]*\s*(?:$|[=(\[.,+*/%<>-])|[\d'\"\[({#-]).*"
)
_DOCTEST_MORE = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_DIFF_COMMAND = re.compile(r"\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")

_VERBS = (
    r"wrote|writes|écrivait|(?:a )?écrit|schrieb(?:en)?|escribió|escribio|escreveu|ha scritto|"
    r"scrisse|schreef|"
    r"skrev|skrifaði|kirjoitti|napisał(?:a|\(a\))?|napsal(?:a|\(a\))?|написал(?:а|\(а\))?|пишет|писал(?:а)?|írta|"
    r"ha escrit|scris|yazdı|写道|寫道|さんは書きました|wrote the following"
)
_ENDS_ATTRIBUTION = re.compile(
    rf"(?:\b(?:{_VERBS})|写道|寫道)(?:[^\n:：]{{0,60}})?\s*[:：]\s*(?:\[?\s*(?:\.\.\.|snip)\]?)?\s*$"
)
_NAMES_AUTHOR = re.compile(
    r"(?:\b(?:said|says)\b.{0,60}[\d@]|[\w.]@\w| at [\w-]{1,60}\.\w{2,}).{0,100}[:：]\s*$"
    r"|[\d@].{0,100}\b(?:said|says)\s*:\s*$|^(?:Quoting|Citando|Zitat von|Quoth) .{1,200}[:：]?\s*$"
)
_STARTS_ATTRIBUTION = re.compile(
    r"\s{0,3}(?:On|At|In|Am|Le|El|Em|Il|Op|Den|På|Dnia|W dniu|Dne|В)\b.*\d|\s{0,3}(?:Quoting|Thus spake|\* )|"
    r"\s{0,3}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|\d{1,4}[-./年])[a-z]*\b.*\d"
)
_ORIGINAL = re.compile(
    r"\s{0,3}[-_]{2,}\s*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Originalnachricht|"
    r"Message d'origine|Message original|Mensaje original|Mensagem original|Messaggio originale|"
    r"Oorspronkelijk bericht|Ursprungligt meddelande|Forwarded [Mm]essage|Weitergeleitete Nachricht|"
    r"Исходное сообщение|原始邮件|(?P<by>Forwarded by (?=.)))"
    r"|\s{0,3}(?P<begin>Begin forwarded message:)",
    re.IGNORECASE,
)
_MAX_AFTER_ORIGINAL, _MAX_AFTER_BY = 80, 280
_HEADER_LABEL = re.compile(
    r"\s{0,3}\*?(?:(From|Von|De|Da|Van|Från|Fra|Od|От|发件人|差出人)"
    r"|(Sent|Date|Gesendet|Datum|Envoyé|Enviado|Inviato|Data|Fecha|Verzonden|Skickat|Sendt|Отправлено|发送时间|送信日時)"
    r"|(To|An|À|Para|A|Aan|Till|Til|Кому|收件人|宛先)"
    r"|(Cc|Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Ämne|Emne|Тема|主题|件名))(?: :|:|：)\*?\s"
)
_RULE = re.compile(r"\s{0,3}[_-]{5,}\s*$")
_LABELS_NEEDED = {1, 2, 3}
_MAX_HEADER_LINES = 12
_ADDRESS = re.compile(r"<[^<>\s@]{1,80}@[^<>\s@]{1,80}>")
# Lines that replace a removed quote: `[snip]`, `[...]`, `<snip>`, `...`.
_CUT_MARK = re.compile(
    r"\n[ \t]{0,3}(?:[\[<(][ \t]{0,3}(?:snip(?:ped)?|\.{2,3}|…)?[ \t]{0,3}[\])>]|\.\.\.|…)[ \t]{0,3}(?=\n|\Z)"
)
_MAX_ATTRIBUTION_LINES = 4
_MAX_ATTRIBUTION_CHARS = 400
_MAX_INDENT = 4


def mark_quotes(body: MarkedLines) -> None:
    odd = bool(_ODD_LINE.search(body.text))
    if odd:
        _mark_odd(body)
    if QUOTE in body.marks:
        if odd or ">>> " in body.text:
            _unmark_code(body)
        for start, _ in body.runs(QUOTE):
            _mark_attribution(body, start)
    _mark_lone_attributions(body)
    _mark_block(body)


def _mark_odd(body: MarkedLines) -> None:
    """Mark indented quotes and repeated `JL> quoted` lines of old mailers. A prompt is not a quote."""
    by_initials: dict[str, list[int]] = {}
    for number, line in enumerate(body.lines):
        content = line.lstrip(" \t")
        if content[:1] == ">" and 0 < len(line) - len(content) <= _MAX_INDENT:
            body.marks[number] = QUOTE
        elif match := _INITIALS_LINE.match(line):
            by_initials.setdefault(match[1], []).append(number)
    for initials, numbers in by_initials.items():
        if len(numbers) > 1 and initials not in _PROMPTS:
            for number in numbers:
                body.marks[number] = QUOTE


def _unmark_code(body: MarkedLines) -> None:
    """Unmark Python prompts and the `>` lines of a classic diff."""
    for start, end in body.runs(QUOTE):
        above, run = body.lines[start - 1] if start else "", [line.lstrip() for line in body.lines[start:end]]
        is_doctest = _DOCTEST.match(run[0]) and all(map(_DOCTEST_MORE.match, run))
        is_diff = _DIFF_COMMAND.match(above) or (
            above == "---" and body.lines[max(0, start - 2)].startswith("< ")
        )
        if is_diff or is_doctest:
            body.mark(start, end, NEW)


def _mark_attribution(body: MarkedLines, quote: int) -> None:
    """Mark the line before a quote that names its author, with the lines that it wraps over."""
    last = quote - 1
    while last >= max(0, quote - 2) and body.is_blank(last):
        last -= 1
    line = body.lines[last] if last >= 0 and body.marks[last] == NEW else ""
    if len(line) > _MAX_ATTRIBUTION_CHARS or not line.rstrip().endswith((":", "：", "]")):
        return
    if _ENDS_ATTRIBUTION.search(line) or _NAMES_AUTHOR.search(line):
        body.mark(_attribution_start(body, last), last + 1, ATTRIBUTION)


def _mark_lone_attributions(body: MarkedLines) -> None:
    """Mark attributions whose quote was removed: before `[snip]`, or at the start of the body."""
    for found in _CUT_MARK.finditer(body.text):
        number = body.line_at(found.start() + 1)
        if body.marks[number] == NEW and _mark_full_attribution(body, number - 1):
            body.marks[number] = ATTRIBUTION
    first = next((number for number in range(len(body)) if not body.is_blank(number)), len(body))
    for last in range(first, min(len(body), first + _MAX_ATTRIBUTION_LINES)):
        if body.marks[last] != NEW or _mark_full_attribution(body, last, first):
            return


def _mark_full_attribution(body: MarkedLines, last: int, first: int | None = None) -> bool:
    """Mark an attribution with an author or a date that ends at `last`. Return whether there is one."""
    if last < 0 or body.marks[last] != NEW:
        return False
    line = body.lines[last].rstrip()
    if not line.endswith((":", "：", "]")) or not _ENDS_ATTRIBUTION.search(line[-200:]):
        return False
    start = _attribution_start(body, last)
    is_full = _STARTS_ATTRIBUTION.match(body.lines[start]) or _ADDRESS.search(body.lines[last][:200])
    if not is_full or (first is not None and start != first):
        return False
    body.mark(start, last + 1, ATTRIBUTION)
    return True


def _attribution_start(body: MarkedLines, last: int) -> int:
    """Return the first line of the attribution, which is at most a few lines above and begins with a date."""
    for first in range(last, max(-1, last - _MAX_ATTRIBUTION_LINES), -1):
        line = body.lines[first]
        if body.marks[first] != NEW or not line.strip() or len(line) > _MAX_ATTRIBUTION_CHARS:
            break
        if first < last and line.rstrip().endswith((".", "!", "?", ":")):
            break
        if _STARTS_ATTRIBUTION.match(line):
            return first
    return last


_BLOCK_START = re.compile(
    r"[-_]{2,}[ \t]*[^\W_]|\*?(?:From|Von|De|Da|Van|Från|Fra|Od|От|发件人|差出人)\*? ?[:：]|Begin forwarded"
)
_BLOCK_FIRSTS = re.compile(r"[-_*FVDOBО发差]")


def _mark_block(body: MarkedLines) -> None:
    """Mark an Outlook or forwarded block: the rest of the body is quoted, unless `>` marks the quote."""
    for candidate in _BLOCK_FIRSTS.finditer(body.firsts):
        number = candidate.start()
        line = body.lines[number]
        if body.marks[number] != NEW or not _BLOCK_START.match(line):
            continue
        if _is_original(line):
            end = _end_of_headers(body, number + 1)
        elif _is_header_block(body.lines, number):
            end, above = _end_of_headers(body, number), number - 1
            while above > 0 and above > number - 3 and body.is_blank(above):
                above -= 1
            number = above if above >= 0 and _RULE.match(body.lines[above]) else number
        else:
            continue
        body.mark(number, end, ATTRIBUTION)
        first = next((at for at in range(end, len(body)) if not body.is_blank(at)), None)
        if first is None or body.marks[first] != QUOTE:
            body.mark(end, len(body), QUOTE)
        return


def _is_original(line: str) -> bool:
    """Match `--- Original Message ---` with little more on the line, without a pattern that could hang."""
    found = _ORIGINAL.match(line)
    if found is None:
        return False
    after = line[found.end() :].rstrip()
    if found["begin"]:
        return not after
    return len(after.rstrip("-").rstrip()) <= (_MAX_AFTER_BY if found["by"] else _MAX_AFTER_ORIGINAL)


def _is_header_block(lines: list[str], start: int) -> bool:
    """Return whether a block with a sender, a date and a recipient starts here. No patch has all three."""
    labels = map(_HEADER_LABEL.match, lines[start : start + 6])
    return {label.lastindex for label in labels if label} >= _LABELS_NEEDED


def _end_of_headers(body: MarkedLines, start: int) -> int:
    """Return the line after the block's headers, which may be folded and follow blank lines."""
    number, size = start, len(body)
    while number < min(size, start + 2) and body.is_blank(number):
        number += 1
    if number >= size or not _HEADER_LABEL.match(body.lines[number]):
        return start
    while number < min(size, start + _MAX_HEADER_LINES) and not body.is_blank(number):
        number += 1
    return number
