"""A small IMAP server: one mailbox, the commands that a client needs, and ways to misbehave."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

MESSAGE = "Subject: {name}\r\nFrom: a@example.org\r\nTo: b@example.org\r\nMessage-ID: <{name}@x>\r\n\r\nbody\r\nFrom here on\r\n"


@dataclass
class MailServer:
    messages: dict[int, bytes] = field(default_factory=dict)
    uid_validity: int = 7
    user: str = "reader"
    password: str = "pass word"
    commands: list[str] = field(default_factory=list)
    drop_fetches: int = 0
    lying_literal: int | None = None
    port: int = 0

    def add(self, uid: int, name: str) -> None:
        self.messages[uid] = MESSAGE.format(name=name).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"* OK ready\r\n")
        try:
            while line := await reader.readline():
                tag, _, command = line.decode().strip().partition(" ")
                self.commands.append(command)
                if not self._answer(tag, command, writer):
                    break
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    def _answer(self, tag: str, command: str, writer: asyncio.StreamWriter) -> bool:
        name = command.upper()
        if name.startswith("CAPABILITY"):
            writer.write(b"* CAPABILITY IMAP4rev1\r\n")
        elif name.startswith("LOGIN"):
            if command != f'LOGIN {self.user} "{self.password}"':
                writer.write(f"{tag} NO [AUTHENTICATIONFAILED] {command}\r\n".encode())
                return True
        elif name.startswith("EXAMINE"):
            self._examine(writer)
        elif name.startswith("UID SEARCH"):
            self._search(command, writer)
        elif name.startswith("UID FETCH"):
            if "BODY" in name and self.drop_fetches:
                self.drop_fetches -= 1
                return False
            self._fetch(command, writer)
        elif name.startswith("LOGOUT"):
            writer.write(f"* BYE\r\n{tag} OK done\r\n".encode())
            return False
        writer.write(f"{tag} OK done\r\n".encode())
        return True

    def _examine(self, writer: asyncio.StreamWriter) -> None:
        following = max(self.messages, default=0) + 1
        writer.write(
            f"* {len(self.messages)} EXISTS\r\n* OK [UIDVALIDITY {self.uid_validity}] v\r\n"
            f"* OK [UIDNEXT {following}] n\r\n".encode()
        )

    def _search(self, command: str, writer: asyncio.StreamWriter) -> None:
        low, _, high = command.rpartition(" ")[2].partition(":")
        top = max(self.messages, default=0) if high == "*" else int(high)
        found = [uid for uid in sorted(self.messages) if int(low) <= uid <= top]
        writer.write(("* SEARCH " + " ".join(map(str, found))).rstrip().encode() + b"\r\n")

    def _fetch(self, command: str, writer: asyncio.StreamWriter) -> None:
        match = re.fullmatch(r"UID FETCH ([\d,]+) \((.*)\)", command)
        assert match is not None
        for number, uid in enumerate(map(int, match[1].split(",")), 1):
            content = self.messages[uid]
            if "RFC822.SIZE" in match[2]:
                writer.write(f"* {number} FETCH (UID {uid} RFC822.SIZE {len(content)})\r\n".encode())
                continue
            size = self.lying_literal or len(content)
            about = f'* {number} FETCH (INTERNALDATE "01-Feb-2026 10:00:00 +0100" BODY[] {{{size}}}\r\n'
            writer.write(about.encode() + content + f" UID {uid})\r\n".encode())


@asynccontextmanager
async def a_mail_server(tls: ssl.SSLContext | None = None, **fields: object) -> AsyncIterator[MailServer]:
    mail = MailServer(**fields)  # type: ignore[arg-type]
    server = await asyncio.start_server(mail.serve, "127.0.0.1", 0, ssl=tls)
    mail.port = server.sockets[0].getsockname()[1]
    async with server:
        yield mail
