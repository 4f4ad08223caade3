"""What previews of feeds and pages share: a folder, a turn at the host, and a time limit."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from webloom.application.host_turns import HostTurns, Turn
from webloom.domain.errors import FetchFailed
from webloom.parsing.web_url import host_of
from webloom.private_files import make_spool

PREVIEW_FOLDERS = "*.preview"
PREVIEW_SECONDS = 30.0  # to fetch and to read
LONGEST_PAUSE = 1.0  # before a busy host is tried again: a person waits


@asynccontextmanager
async def preview_folder(spool: Path) -> AsyncIterator[Path]:
    """A temporary folder in the spool. Raises FetchFailed if it can't be created."""
    folder = spool / PREVIEW_FOLDERS.replace("*", uuid.uuid4().hex)
    try:
        _make(folder)
        yield folder
    finally:
        # The thread finishes even if the wait for it is cancelled.
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@asynccontextmanager
async def turn_at_host(turns: HostTurns, url: str) -> AsyncIterator[None]:
    """Waits for a turn without a limit: the preview itself has one."""
    while True:
        turn = await turns.take(host_of(url))
        if isinstance(turn, Turn):
            break
        await asyncio.sleep(min(turn.seconds, LONGEST_PAUSE))
    try:
        yield
    finally:
        turn.end()


def too_slow(what: str, seconds: float) -> FetchFailed:
    return FetchFailed(
        reason=f"it was not fetched and read within the {seconds:g} s of a preview; {what} may "
        "take longer",
        retryable=True,
    )


def _make(folder: Path) -> None:
    """Not in a thread: an abandoned one might create the folder after it was removed."""
    try:
        make_spool(folder.parent)
        folder.mkdir()
    except OSError as error:
        raise FetchFailed(
            reason=f"{folder} can't be created: {error.strerror or error}", retryable=True
        ) from error
