"""How much of a text an encoder is given."""

# A window of 256 tokens is some 1,500 characters. What is far beyond is cut before it costs any time.
MAX_CHARACTERS = 64 * 1024


def clean_for_tokenizer(text: str) -> str:
    """The text cut to a bounded length, without lone surrogates: no tokenizer takes those."""
    cut = text[:MAX_CHARACTERS]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")
