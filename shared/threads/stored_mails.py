"""A stored message as the parser returned it."""

from shared.documents.threads import Message
from shared.domain.mail.models import ParsedAddress, ParsedAttachment, ParsedMail, Segment, SegmentKind


def parsed_mail(message: Message) -> ParsedMail:
    """A stored message as the parser returned it, as far as threading needs it."""
    return ParsedMail(
        message_key=message.message_key,
        message_id=message.message_id,
        in_reply_to=[message.in_reply_to] if message.in_reply_to else [],
        references=message.references,
        subject=message.subject,
        sender=ParsedAddress(message.from_.name, message.from_.email),
        to=[ParsedAddress(address.name, address.email) for address in message.to],
        cc=[ParsedAddress(address.name, address.email) for address in message.cc],
        date=message.date,
        body_raw=message.body_raw,
        body_normalized=message.body_normalized,
        body_html=message.body_html,
        segments=[
            Segment(SegmentKind(segment["kind"]), segment["start"], segment["end"])
            for segment in message.segments
        ],
        headers=message.headers,
        trace=message.trace,
        attachments=[
            ParsedAttachment(attachment.filename or "", attachment.content_type, attachment.size_bytes)
            for attachment in message.attachments
        ],
        draft_mentions=message.draft_mentions,
        warnings=message.warnings,
    )
