"""The TCP or TLS connection under an AMQP connection."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pamqp.decode
import pamqp.frame
from aiormq import spec
from aiormq.connection import TransportFactory
from pamqp.exceptions import PAMQPException
from yarl import URL

AMQP_BEGINS_WITH = b"\x01"  # a method frame: Connection.Start
REMEMBERED = 4096  # bytes; the server's part of a handshake is shorter


class Line(TransportFactory):
    """Remembers what was heard first on it, and can be cut."""

    def __init__(self) -> None:
        self._ear = _Ear()
        self._transport: asyncio.WriteTransport | None = None

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = None
        if url.scheme == "amqps":
            tls = await kwargs["ssl_context_provider"].get_context()
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._ear)
        transport, _ = await loop.create_connection(
            lambda: protocol, str(url.host), url.port or 0, ssl=tls
        )
        self._transport = transport
        return self._ear, asyncio.StreamWriter(transport, protocol, self._ear, loop)

    @property
    def speaks_otherwise(self) -> bool:
        """Something answered, and not in AMQP."""
        return self._ear.heard[:1] not in (b"", AMQP_BEGINS_WITH)

    def refusal(self) -> tuple[int, str] | None:
        """Code and words with which the server ended the handshake, if it did."""
        heard = self._ear.heard
        try:
            while heard:
                length, _, frame = pamqp.frame.unmarshal(heard)
                if isinstance(frame, spec.Connection.Close):
                    return frame.reply_code or 0, frame.reply_text
                heard = heard[length:]
        except PAMQPException:
            pass  # cut off in the middle of a frame
        return None

    def cut(self) -> None:
        """At once, without a word: the other side may not listen any more."""
        if self._transport is not None:
            self._transport.abort()


def read_anything() -> None:
    """Other programs may write text that is not UTF-8, and times that Python can't name. The
    library would end the connection over such a message, and the next one over the same message.
    """
    pamqp.decode.METHODS.update(shortstr=_text, table=_table, timestamp=_moment)


def _text(value: bytes) -> tuple[int, str]:
    length = value[0]
    return length + 1, value[1 : length + 1].decode(errors="ignore")  # never longer than it was


def _table(value: bytes) -> tuple[int, Any]:
    try:
        return pamqp.decode.field_table(value)
    except (ValueError, OverflowError, OSError, RecursionError):
        return 4 + int.from_bytes(value[:4], "big"), {}


def _moment(value: bytes) -> tuple[int, datetime]:
    try:
        return pamqp.decode.timestamp(value)
    except (ValueError, OverflowError, OSError):
        return 8, datetime.fromtimestamp(0, UTC)


class _Ear(asyncio.StreamReader):
    heard = b""

    def feed_data(self, data: Any) -> None:
        if len(self.heard) < REMEMBERED:
            self.heard += bytes(data[:REMEMBERED])
        super().feed_data(data)
