"""What may leave the app in a log line: no mail, no addresses, no secrets.

Our own log lines hold ids and counts. What may slip in is the text of an exception: so addresses, secrets and
the values that validators quote are taken out of every line, and an exception of another library keeps its
type and its frames, but not its text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any
from urllib.parse import unquote, urlsplit

LONGEST_LINE = 1_000
LONGEST_STACK = 16_000
LOOKED_AT_MORE = 4_000
SHORTEST_SECRET = 8
OURS = ("shared.", "stages.", "web.", "ops.", "localcloud.")
KEPT_ATTRIBUTES = frozenset({"exception.type", "exception.message", "exception.stacktrace"})

_SECRET_SETTING = re.compile(r"KEY|SECRET|PASSWORD|TOKEN|CONNECTION|SIGNATURE|AzureWebJobsStorage")
_NOT_SECRET = re.compile(r"^(APPLICATIONINSIGHTS_CONNECTION_STRING|.*__.*)$")
_PIECE = re.compile(r"(?:SharedAccessKey|AccountKey|SharedAccessSignature|sig)=([^;&\s]+)")
_LETTER = r"[^\s<>\"'(),;:=\[\]]"
_RULES = [
    (re.compile(r"input_value=.*?(?=, input_type=|$)", re.DOTALL), "input_value=..."),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), r"\1 ..."),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), "..."),
    (
        re.compile(
            r"\b(\w*(?:password|passwd|secret|api[-_]?key|accountkey|sharedaccesskey|token|signature|sig))"
            r"([\"']?\s*[=:]\s*[\"']?)[^\s;,&\"']+",
            re.IGNORECASE,
        ),
        r"\1\2...",
    ),
    (re.compile(r"(?<=://)[^/\s@]+@"), ""),
    (re.compile(r"(https?://[^\s?#\"'<>]+)[?#][^\s\"'<>]*"), r"\1?..."),
    (re.compile(rf"(?<!{_LETTER}){_LETTER}+@{_LETTER}+"), "(address)"),  # from a word's start: looked at once
]
_RAISED = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?")
_BETWEEN = ("Traceback (", "During handling of", "The above exception")


def secrets_of(settings: Mapping[str, str]) -> list[str]:
    """The values among the settings that must not show anywhere, longest first."""
    found: set[str] = set()
    for name, value in settings.items():
        if _SECRET_SETTING.search(name) and not _NOT_SECRET.match(name):
            found |= {value, *_PIECE.findall(value)}
        elif name == "WEBHOOKS":
            found |= _webhook_secrets(value)
        elif name == "SMTP_URL":
            found |= _mail_secrets(value)
    return sorted((secret for secret in found if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)


def _webhook_secrets(value: str) -> set[str]:
    """The addresses too: with many services, who knows the address may post to it."""
    try:
        hooks = json.loads(value)
        return {str(hook[name]) for hook in hooks for name in ("url", "secret") if name in hook}
    except (ValueError, TypeError, RecursionError):  # then no webhook is called, and all of it is secret
        return {value}


def _mail_secrets(value: str) -> set[str]:
    """The password as the setting has it and as the server gets it."""
    try:
        password = urlsplit(value).password or ""
    except ValueError:  # then no mail is sent, and all of it is secret
        return {value}
    return {value, password, unquote(password)}


def clean_text(text: str, secrets: Iterable[str] = (), *, longest: int = LONGEST_LINE) -> str:
    for secret in secrets:
        text = text.replace(secret, "...")
    text = _shortened(text, longest + LOOKED_AT_MORE)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _shortened(text: str, most: int) -> str:
    """What is cut off anyway is not worth looking at; cut between words, so that nothing is seen by half."""
    if len(text) <= most:
        return text
    start = text[:most]
    return f"{start[: max(start.rfind(' '), start.rfind(chr(10)))] or start}…"


def clean_stack(stack: str, secrets: Iterable[str] = ()) -> str:
    """Frames as they are; of each exception its type, and its text where the exception is one of ours."""
    return clean_text("\n".join(_kept_lines(stack)), secrets, longest=LONGEST_STACK)


def _kept_lines(stack: str) -> Iterator[str]:
    source = 0  # lines that may still follow a frame: its code, and where in it
    for line in stack.splitlines():
        if line.lstrip(" |+-").startswith('File "'):
            source = 2
            yield line
        elif source and line.startswith("    "):
            source -= 1
            yield line
        elif line.startswith(_BETWEEN):
            yield line
        else:
            source = 0
            yield from _raised(line)


def _raised(line: str) -> Iterator[str]:
    found = _RAISED.fullmatch(line)
    if found is None:
        return
    name = found["type"]
    if name.startswith(OURS):
        yield line
    elif "." in name or name.endswith(("Error", "Exception", "Warning", "Interrupt", "Exit")):
        yield name


def clean_attributes(attributes: MutableMapping[str, Any], secrets: Iterable[str] = ()) -> None:
    """Of a log record: only what describes its exception, cleaned; and nothing that a caller put beside."""
    for name in set(attributes) - KEPT_ATTRIBUTES:
        del attributes[name]
    if "exception.stacktrace" in attributes:
        attributes["exception.stacktrace"] = clean_stack(str(attributes["exception.stacktrace"]), secrets)
    if "exception.message" in attributes:
        attributes["exception.message"] = clean_text(str(attributes["exception.message"]), secrets)
