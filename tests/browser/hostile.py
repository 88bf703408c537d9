"""A list of messages that try to break out of the page through names, subjects, bodies, quotes and ids."""

from email.header import Header

__all__ = ["HOSTILE", "SUBJECT"]

SUBJECT = "<script>document.title='owned'</script> \"onmouseover=alert(1) {{7*7}}"
NAME = "Mal <img src=x onerror=alert(2)>"
BODY = """I support <script>alert('body')</script> this proposal with all my heart.

<img src=x onerror="alert('img')"> <a href="javascript:alert('link')">click me</a>
[click](javascript:alert(1)) <svg/onload=alert(3)> {{ config }} {% raw %}

\u202etxet desrever\u202c and \u2066isolated\u2069 text, and a line without an end: LONG

<iframe src="javascript:alert(4)"></iframe><style>body{display:none}</style><base href="//evil.example/">

I object to <b onclick=alert(5)>the second part</b> of it.
"""


def _id(number: int) -> str:
    return f"<\"onload=alert({number})'{{{{{number}}}}}@evil.example>"


def _mail(number: int, body: str, answers: int | None = None) -> str:
    subject = Header(("Re: " if answers is not None else "") + SUBJECT, "utf-8", maxlinelen=900).encode()
    name = Header(f"{NAME} {number}", "utf-8").encode()
    lines = [
        "From mal@evil.example Mon Feb  2 09:10:00 2026",
        f"From: {name} <mal{number}@evil.example>",
        f"Subject: {subject}",
        f"Date: Mon, {2 + number:02d} Feb 2026 09:10:00 +0000",
        f"Message-ID: {_id(number)}",
        "MIME-Version: 1.0",
        'Content-Type: text/plain; charset="utf-8"',
        "Content-Transfer-Encoding: 8bit",
    ]
    if answers is not None:
        lines.append(f"In-Reply-To: {_id(answers)}")
    return "\n".join([*lines, "", body.replace("LONG", "W" * 5_000), ""]) + "\n"


HOSTILE = "".join(
    [
        _mail(0, "I propose that we adopt this draft.\n\n" + BODY),
        _mail(1, "> " + BODY.replace("\n", "\n> ") + "\n\n" + BODY, answers=0),
        _mail(2, "I object to this. " + BODY, answers=1),
    ]
).encode()
