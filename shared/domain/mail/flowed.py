"""format=flowed (RFC 3676): lines that the sender's mailer wrapped are joined again."""

_SIGNATURE = "-- "


def unflow(text: str, *, delsp: bool) -> str:
    """The paragraphs as they were written; quote marks stay, once before each paragraph."""
    paragraphs: list[list[str]] = []
    open_depth = -1
    for line in text.split("\n"):
        depth, content = _unstuffed(line)
        # A space at the end says that the paragraph goes on, except in the mark of a signature.
        flows = content.endswith(" ") and content != _SIGNATURE
        shown = content[:-1] if flows and delsp else content
        if open_depth == depth and content != _SIGNATURE:
            paragraphs[-1].append(shown)
        else:
            paragraphs.append([">" * depth, " " if depth and content else "", shown])
        open_depth = depth if flows else -1
    return "\n".join(map("".join, paragraphs))


def _unstuffed(line: str) -> tuple[int, str]:
    content = line.lstrip(">")
    depth = len(line) - len(content)
    return depth, content.removeprefix(" ")
