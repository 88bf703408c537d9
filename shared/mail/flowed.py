"""format=flowed (RFC 3676): lines that the sender's mailer wrapped are joined again."""

__all__ = ["unflow"]


def unflow(text: str, *, delsp: bool) -> str:
    """The paragraphs as they were written; quote marks stay, once before each paragraph."""
    out: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        depth, content = _unstuffed(line)
        if open_depth == depth and content != "-- ":
            out[-1] += content
        else:
            out.append(f"{'>' * depth} {content}" if depth and content else ">" * depth + content)
        # A space at the end says that the paragraph goes on, except in the mark of a signature.
        flows = content.endswith(" ") and content != "-- "
        if flows and delsp:
            out[-1] = out[-1][:-1]
        open_depth = depth if flows else -1
    return "\n".join(out)


def _unstuffed(line: str) -> tuple[int, str]:
    content = line.lstrip(">")
    depth = len(line) - len(content)
    return depth, content.removeprefix(" ")
