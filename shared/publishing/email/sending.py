"""One mail to the SMTP server, in bounded time."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.policy import SMTP

from shared.settings.app import Settings
from shared.settings.outgoing import MailServer

TIMEOUT_SECONDS = 10  # of one command: a server that is silent for longer is down
_REFUSED_FOR_GOOD = range(500, 600)


class MailNotSentError(Exception):
    """The server did not take it. `for_good`: it does not take mail for this address."""

    def __init__(self, message: str, *, for_good: bool = False) -> None:
        super().__init__(message)
        self.for_good = for_good


async def send_mail(settings: Settings, mail: EmailMessage) -> None:
    """Send it, beside the event loop: smtplib blocks while it waits for the server."""
    try:
        await asyncio.to_thread(_send, settings, mail)
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()))
        text = f"the server refused the address: {code} {said.decode('utf-8', 'replace')}"
        raise MailNotSentError(text[:300], for_good=code in _REFUSED_FOR_GOOD) from error
    except (smtplib.SMTPException, OSError) as error:  # OSError: no connection, time-outs, TLS
        raise MailNotSentError(f"{type(error).__name__}: {error}"[:300]) from error


def _send(settings: Settings, mail: EmailMessage) -> None:
    chosen = settings.mail_server
    if chosen is None:
        raise ValueError("SMTP_URL is not set: no mail is sent without it")
    with _connected(chosen) as server:
        if chosen.starttls:
            server.starttls(context=ssl.create_default_context())
        if chosen.user is not None and chosen.password is not None:
            server.login(chosen.user, chosen.password)
        server.sendmail(settings.EMAIL_FROM, [str(mail["To"])], mail.as_bytes(policy=SMTP))


def _connected(chosen: MailServer) -> smtplib.SMTP:
    if chosen.tls:
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(chosen.host, chosen.port, timeout=TIMEOUT_SECONDS, context=context)
    return smtplib.SMTP(chosen.host, chosen.port, timeout=TIMEOUT_SECONDS)
