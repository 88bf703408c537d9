"""From parsed mail to what the reader takes: own text, and the quoted blocks at their places in it."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from shared.domain.consensus.thread_mail import QuotedBlock, ThreadMail
from shared.domain.mail.models import ParsedMail, Segment, SegmentKind
from shared.domain.mail.normalize import NormalizedBody, normalize

_MARKS = re.compile(r"^[ \t]{0,4}(?:[A-Za-z]{0,3}[>|] {0,2}){1,20}", re.MULTILINE)


def thread_mail_of(message: ParsedMail) -> ThreadMail:
    """The mail as the reader takes it; ids keep the form they have in the message."""
    body = normalize(message.body_raw, message.segments)
    return ThreadMail(
        message_id=message.node,
        address=message.sender.email.lower(),
        name=message.sender.name,
        subject=message.subject,
        date=message.date,
        text=body.text,
        reply_to=message.in_reply_to[0] if message.in_reply_to else None,
        references=tuple(message.references),
        quotes=quoted_blocks(message.body_raw, message.segments, body),
    )


def quoted_blocks(
    body_raw: str, segments: Sequence[Segment], body: NormalizedBody
) -> tuple[QuotedBlock, ...]:
    return tuple(_block(body_raw, segment, body) for segment in segments if segment.kind is SegmentKind.QUOTE)


def _block(body_raw: str, segment: Segment, body: NormalizedBody) -> QuotedBlock:
    below = bisect_left(body.pieces, segment.start, key=_raw_start)
    position = body.pieces[below].start if below < len(body.pieces) else len(body.text)
    return QuotedBlock(position, _MARKS.sub("", body_raw[segment.start : segment.end]))


def _raw_start(piece: tuple[int, int, int]) -> int:
    return piece[1]
