"""Which lines of a body are quoted from another mail, and which introduce a quote."""

import re

from shared.mail.models import Kind

__all__ = ["mark"]

_INITIALS = re.compile(r"\n ?([A-Z][A-Za-z]{1,2})>{1,5} ?[^\n]*\n ?\1>")
_INITIALS_LINE = re.compile(r" ?([A-Z][A-Za-z]{1,2})>{1,5}(?: |$)")
_PROMPTS = frozenset({"SQL", "PS", "DOS", "TCL", "PSQ", "Tcl", "Irb"})
_DOCTEST = re.compile(
    r">>> (?:(?:import|from|def|class|for|if|while|with|try|print|assert|return|raise|del|lambda|async|await|@)\b.*"
    r"|@\w|[A-Za-z_][\w.]*\s*(?:$|[=(\[.,+*/%<>-])|[\d'\"\[({#-]).*"
)
_DOCTEST_MORE = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_DIFF_COMMAND = re.compile(r"\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")

_VERBS = (
    r"wrote|writes|said|says|écrivait|(?:a )?écrit|schrieb(?:en)?|escribió|escribio|escreveu|ha scritto|scrisse|schreef|"
    r"skrev|skrifaði|kirjoitti|napisał(?:a|\(a\))?|napsal(?:a|\(a\))?|написал(?:а|\(а\))?|пишет|писал(?:а)?|írta|"
    r"ha escrit|scris|yazdı|写道|寫道|さんは書きました|wrote the following"
)
_ENDS_ATTRIBUTION = re.compile(rf"(?:\b(?:{_VERBS})|写道|寫道)(?:[^\n:：]{{0,60}})?\s*[:：]\s*(?:\[?\s*(?:\.\.\.|snip)\]?)?\s*$")
_WORDS_IN_ATTRIBUTION = re.compile(r"(?:@| at )[^\n]{0,200}[:：]\s*$|^(?:Quoting|Citando|Zitat von|Quoth) .{1,200}[:：]?\s*$")
_STARTS_ATTRIBUTION = re.compile(
    r"\s{0,3}(?:On|At|In|Am|Le|El|Em|Il|Op|Den|På|Dnia|W dniu|Dne|В|On the|Op|Quoting|Thus spake|\*|"
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|lun|mar|mer|jeu|ven|sam|dim|mån|tis|ons|tor|fre|lör|sön|ma|ti|ke|to|pe|la|su)\b|"
    r"\d{1,4}[-./年]|\"|<?[\w.+-]+@|[A-Z][\w'.-]+ [A-Z])"
)
_ORIGINAL = re.compile(
    r"\s{0,3}[-_]{2,}\s*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Originalnachricht|"
    r"Message d'origine|Message original|Mensaje original|Mensagem original|Messaggio originale|"
    r"Oorspronkelijk bericht|Ursprungligt meddelande|Forwarded [Mm]essage|Weitergeleitete Nachricht|"
    r"Исходное сообщение|原始邮件|Original message|original message|Forwarded by .{1,200}?)[^\n]{0,80}?\s*-*\s*$"
    r"|\s{0,3}Begin forwarded message:\s*$",
    re.IGNORECASE,
)
_HEADER_LABEL = re.compile(
    r"\s{0,3}\*?(?:(From|Von|De|Da|Van|Från|Fra|Od|От|发件人|差出人)"
    r"|(Sent|Date|Gesendet|Datum|Envoyé|Enviado|Inviato|Data|Fecha|Verzonden|Skickat|Sendt|Отправлено|发送时间|送信日時)"
    r"|(To|Cc|Subject|An|Betreff|À|Objet|Para|Asunto|Assunto|A|Oggetto|Aan|Onderwerp|Till|Ämne|Til|Emne|Кому|Тема|"
    r"收件人|主题|宛先|件名))(?: :|:|：)\*?\s"
)
_RULE = re.compile(r"\s{0,3}[_-]{5,}\s*$")
_LABELS_NEEDED = 3
_MAX_HEADER_LINES = 12
_MAX_ATTRIBUTION_LINES = 4
_MAX_ATTRIBUTION_CHARS = 400
_MAX_INDENT = 4


def mark(lines: list[str], text: str) -> list[Kind]:
    """A kind for every line: new, quote or attribution."""
    new, quote = Kind.NEW, Kind.QUOTE
    kinds = [quote if line[:1] == ">" else new for line in lines]
    if "\n >" in text or "\n\t>" in text or "\n  " in text:
        _mark_indented(lines, kinds)
    if "> " in text and _INITIALS.search(text):
        _mark_initials(lines, kinds)
    if ">>> " in text or "\n> " in text or text.startswith(">"):
        _unmark_code(lines, kinds)
    if quote in kinds:
        _mark_attributions(lines, kinds)
    if _may_have_block(text):
        _mark_block(lines, kinds)
    return kinds


def _mark_indented(lines: list[str], kinds: list[Kind]) -> None:
    for number, line in enumerate(lines):
        if line[:1] in {" ", "\t"}:
            content = line.lstrip(" \t")
            if content[:1] == ">" and len(line) - len(content) <= _MAX_INDENT:
                kinds[number] = Kind.QUOTE


def _mark_initials(lines: list[str], kinds: list[Kind]) -> None:
    """`JL> quoted`, as some mailers of the nineties put it; a prompt is none."""
    for number, line in enumerate(lines):
        match = _INITIALS_LINE.match(line)
        if match and match[1] not in _PROMPTS:
            kinds[number] = Kind.QUOTE


def _unmark_code(lines: list[str], kinds: list[Kind]) -> None:
    """Python prompts and the `>` lines of a classic diff are text, not quotes."""
    for start, end in _runs(kinds, Kind.QUOTE):
        above = lines[start - 1] if start else ""
        is_diff = above == "---" or _DIFF_COMMAND.match(above)
        if is_diff or _is_doctest(lines[start:end]):
            kinds[start:end] = [Kind.NEW] * (end - start)


def _is_doctest(run: list[str]) -> bool:
    first = run[0].lstrip()
    return bool(_DOCTEST.match(first)) and all(_DOCTEST_MORE.match(line.lstrip()) for line in run)


def _runs(kinds: list[Kind], kind: Kind) -> list[tuple[int, int]]:
    runs = []
    start = -1
    for number, one in enumerate(kinds):
        if one is kind:
            if start < 0:
                start = number
        elif start >= 0:
            runs.append((start, number))
            start = -1
    if start >= 0:
        runs.append((start, len(kinds)))
    return runs


def _mark_attributions(lines: list[str], kinds: list[Kind]) -> None:
    previous = Kind.NEW
    for number, kind in enumerate(kinds):
        if kind is Kind.QUOTE and previous is not Kind.QUOTE:
            _mark_attribution(lines, kinds, number)
        previous = kind


def _mark_attribution(lines: list[str], kinds: list[Kind], quote: int) -> None:
    """The line before a quote that says who wrote it, with the lines that it was wrapped over."""
    last = quote - 1
    while last >= max(0, quote - 2) and not lines[last].strip():
        last -= 1
    if last < 0 or kinds[last] is not Kind.NEW or not _ends_attribution(lines[last]):
        return
    first = _attribution_start(lines, kinds, last)
    kinds[first : last + 1] = [Kind.ATTRIBUTION] * (last + 1 - first)


def _ends_attribution(line: str) -> bool:
    if len(line) > _MAX_ATTRIBUTION_CHARS or ":" not in line and "：" not in line:
        return False
    return bool(_ENDS_ATTRIBUTION.search(line) or _WORDS_IN_ATTRIBUTION.search(line))


def _attribution_start(lines: list[str], kinds: list[Kind], last: int) -> int:
    for first in range(last, max(-1, last - _MAX_ATTRIBUTION_LINES), -1):
        line = lines[first]
        if kinds[first] is not Kind.NEW or not line.strip() or len(line) > _MAX_ATTRIBUTION_CHARS:
            break
        if _STARTS_ATTRIBUTION.match(line) and (first == 0 or not _goes_on(lines[first - 1])):
            return first
    return last


def _goes_on(line: str) -> bool:
    """Whether the line before is the attribution's beginning rather than the end of a paragraph."""
    return bool(re.match(r"\s{0,3}(?:On|Am|Le|El|Em|Il|Op|Den|W dniu|Dnia)\b[^.!?]*\d[^.!?]*(?:,|<\S*|\d)\s*$", line))


def _may_have_block(text: str) -> bool:
    return "essage" in text or "Nachricht" in text or "Sent:" in text or bool(_BLOCK_HINT.search(text))


_BLOCK_HINT = re.compile(
    r"orwarded|riginal|\n\*?(?:Gesendet|Envoyé|Enviado|Inviato|Verzonden|Skickat|Отправлено|Date|Datum|Fecha|Data)\*? ?:"
    r"|bericht|ensaje|ensagem|essaggio|сообщение|原始邮件|发送时间|送信日時"
)


def _mark_block(lines: list[str], kinds: list[Kind]) -> None:
    """An Outlook or forwarded block: from its rule or headers on all is quoted, unless `>` marks the quote."""
    for number, line in enumerate(lines):
        if kinds[number] is not Kind.NEW or not line:
            continue
        headers = number + 1 if _ORIGINAL.match(line) else _header_block(lines, number)
        if headers == number:
            continue
        end = _end_of_headers(lines, max(headers, number + 1))
        kinds[number:end] = [Kind.ATTRIBUTION] * (end - number)
        if not _quote_is_marked(lines, kinds, end):
            kinds[end:] = [Kind.QUOTE] * (len(kinds) - end)
        return


def _header_block(lines: list[str], start: int) -> int:
    """The end of a header block that starts here (`From:`, `Sent:`, `To:` ...), else `start`."""
    first = start + 1 if _RULE.match(lines[start]) else start
    while first > start and first < len(lines) and not lines[first].strip():
        first += 1
    if first >= len(lines) or not (label := _HEADER_LABEL.match(lines[first])) or not label[1]:
        return start
    seen = {1}
    for line in lines[first + 1 : first + 6]:
        if label := _HEADER_LABEL.match(line):
            seen.add(label.lastindex or 0)
    return first + 1 if len(seen) >= _LABELS_NEEDED else start


def _end_of_headers(lines: list[str], start: int) -> int:
    """The first line after the block's headers; they may be folded, and blank lines may stand before them."""
    number = start
    while number < min(len(lines), start + 2) and not lines[number].strip():
        number += 1
    if number >= len(lines) or not _HEADER_LABEL.match(lines[number]):
        return start
    while number < min(len(lines), start + _MAX_HEADER_LINES) and lines[number].strip():
        number += 1
    return number


def _quote_is_marked(lines: list[str], kinds: list[Kind], start: int) -> bool:
    for number in range(start, len(lines)):
        if lines[number].strip():
            return kinds[number] is Kind.QUOTE
    return False
