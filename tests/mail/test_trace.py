"""The stored fields of transport and authentication are bounded, with the last hop first."""

from shared.mail.parse import parse_message

MAIL = b"".join(
    [
        *(f"Received: from hop{number} by list\n".encode() for number in range(6)),
        *(f"Authentication-Results: mx{number}; dmarc=pass\n".encode() for number in range(6)),
        b"DKIM-Signature: v=1; a=rsa-sha256; d=example.org;\n\ts=day; h=From:To;\n\tbh=aGFzaA==; b=c2lnbmF0dXJl\n",
        b"From: a@example.org\nMessage-ID: <a@example.org>\n\nWords.\n",
    ]
)


def test_who_signed_is_kept_and_the_numbers_are_not() -> None:
    (signed,) = parse_message(MAIL).trace["dkim-signature"]
    assert " ".join(signed.split()) == "a=rsa-sha256; d=example.org; s=day"


def test_the_last_hop_is_kept() -> None:
    trace = parse_message(MAIL).trace
    assert trace["received"] == ["from hop0 by list"]
    assert trace["authentication-results"] == [f"mx{number}; dmarc=pass" for number in range(4)]
