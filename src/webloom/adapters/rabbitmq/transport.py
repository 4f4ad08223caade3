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
RECORDED = 4096  # bytes; the server's part of a handshake is shorter


class Transport(TransportFactory):
    """Keeps the first bytes that were received, and can be aborted."""

    def __init__(self) -> None:
        self._reader = _RecordingReader()
        self._transport: asyncio.WriteTransport | None = None

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = None
        if url.scheme == "amqps":
            tls = await kwargs["ssl_context_provider"].get_context()
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._reader)
        transport, _ = await loop.create_connection(
            lambda: protocol, str(url.host), url.port or 0, ssl=tls
        )
        self._transport = transport
        return self._reader, asyncio.StreamWriter(transport, protocol, self._reader, loop)

    @property
    def is_other_protocol(self) -> bool:
        """The server does not speak AMQP."""
        return self._reader.first_bytes[:1] not in (b"", AMQP_BEGINS_WITH)

    def refusal(self) -> tuple[int, str] | None:
        """Code and text with which the server ended the handshake, if it did."""
        received = self._reader.first_bytes
        try:
            while received:
                length, _, frame = pamqp.frame.unmarshal(received)
                if isinstance(frame, spec.Connection.Close):
                    return frame.reply_code or 0, frame.reply_text
                received = received[length:]
        except PAMQPException:
            pass  # cut off in the middle of a frame
        return None

    def abort(self) -> None:
        """Without a closing handshake, because the server may not answer."""
        if self._transport is not None:
            self._transport.abort()


def read_anything() -> None:
    """Other programs may write text that is not UTF-8, and times that Python can't represent. The
    library would end the connection over such a message, and the next one over the same message.

    Remove this when pamqp reads such values: tests/unit/test_patched_libraries.py then fails.
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


class _RecordingReader(asyncio.StreamReader):
    first_bytes = b""

    def feed_data(self, data: Any) -> None:
        if len(self.first_bytes) < RECORDED:
            self.first_bytes += bytes(data[:RECORDED])
        super().feed_data(data)
