"""A mail server that stores the mail that it gets, and refuses it if told to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as SmtpSession


@dataclass
class MailServer:
    """A mail server. `refusals` are its next answers, one for each recipient. An empty answer accepts."""

    got: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    port: int = 0

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: SmtpSession, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        refusal = self.refusals.pop(0) if self.refusals else ""
        if not refusal:
            envelope.rcpt_tos.append(address)
        return refusal or "250 OK"

    async def handle_DATA(  # noqa: N802
        self, _server: SMTP, _session: SmtpSession, envelope: Envelope
    ) -> str:
        content = envelope.content if isinstance(envelope.content, bytes) else b""
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.got.append(mail)
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    server = MailServer()
    listening = await asyncio.get_running_loop().create_server(lambda: SMTP(server), "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server
