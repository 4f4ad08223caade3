"""The process that reads pages, one after the other."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from webloom.adapters.page_process.frames import Answered, Refused, encode, orders
from webloom.adapters.sandbox.child import OUT_OF_FILES, run
from webloom.adapters.sandbox.frames import MOST_BYTES
from webloom.diffs.pages import diff_pages
from webloom.domain.errors import PageUnreadable
from webloom.parsing.pages.reading import read_page
from webloom.ports.page_reader import PageOrder, PageRead


def serve(order: bytes) -> Iterator[tuple[bytes, bytes]]:
    yield _answer(order), b""


def _answer(order: bytes) -> bytes:
    try:
        wanted = orders.decode(order)
        answer = encode(Answered(read=read(wanted, _body(wanted.path))))
        if len(answer) <= MOST_BYTES:
            return answer
        return encode(Refused(reason="what is in the page is too much"))
    except PageUnreadable as error:
        return encode(Refused(reason=str(error)))
    except MemoryError:
        raise
    except Exception as error:
        return encode(
            Refused(
                reason=f"the page can't be read because of a fault in Webloom: {_named(error)}",
                trace=traceback.format_exc(limit=-20),
            )
        )


def read(order: PageOrder, body: bytes) -> PageRead:
    reading = read_page(
        body,
        url=order.url,
        status_code=order.status_code,
        content_type=order.content_type,
        selection=order.selection,
    )
    diff = None if order.previous is None else diff_pages(order.previous, reading.parsed)
    return PageRead(reading=reading, diff=diff)


def _body(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):  # the machine's fault, not the page's
            os._exit(OUT_OF_FILES)
        named = str(path).encode("utf-8", "replace").decode()
        raise PageUnreadable(f"can't read {named}: {error.strerror or error}") from error
    if len(body) > MOST_BYTES:
        raise PageUnreadable(f"the page is larger than {MOST_BYTES:,} bytes")
    return body


def _named(error: Exception) -> str:
    said = " ".join(str(error).split())[:200].encode("utf-8", "backslashreplace").decode()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


if __name__ == "__main__":
    run(serve)
