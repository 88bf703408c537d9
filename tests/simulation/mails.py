"""Tiny mailboxes, written by us, which the scenarios upload."""

from collections.abc import Sequence

_TEXTS = (
    "I propose that we adopt draft-foo-bar-01 now.",
    "I agree, +1. This is ready and I support adoption.",
    "I disagree: section 3 is underspecified and must be fixed first.",
    "What should the default timer be? I suggest thirty seconds.",
    "Thirty seconds works for me. I support that.",
    "Should the registry be first come first served?",
    "Yes, there is rough consensus on that.",
)
_PEOPLE = ("ann", "bob", "cem", "dee", "eve", "fay", "gus")


def mail(number: int, refs: Sequence[int] = (), *, subject: str = "", text: str = "") -> str:
    """Build message <m{number}>, a minute after the previous number, with these ancestors, the parent last."""
    sender = _PEOPLE[number % len(_PEOPLE)]
    date = f"Mon, {1 + number // 60:02d} Jan 2024 10:{number % 60:02d}:00 +0000"
    topic = subject or f"{'Re: ' if refs else ''}Topic {refs[0] if refs else number}"
    lines = [
        f"From {sender}@example.org {date}",
        f"From: {sender.title()} <{sender}@example.org>",
        "To: list@example.org",
        f"Subject: {topic}",
        f"Date: {date}",
        f"Message-ID: <m{number}@example.org>",
    ]
    if refs:
        lines.append(f"In-Reply-To: <m{refs[-1]}@example.org>")
        lines.append("References: " + " ".join(f"<m{ref}@example.org>" for ref in refs))
    body = text or f"{_TEXTS[number % len(_TEXTS)]} ({number})"
    return "\n".join([*lines, "", body, "", ""])


def mailbox(*mails: str) -> bytes:
    return "".join(mails).encode()
