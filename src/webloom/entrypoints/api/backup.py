"""/api/backup and /api/restore: everything as one file, and back."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import IO, Annotated

import msgspec
from fastapi import Depends, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from webloom import __version__
from webloom.application.move.load import Verdict
from webloom.application.move.restore import Restore, contents
from webloom.application.move.stream import DumpReader, Header, Total
from webloom.bootstrap.connections import dump_reader
from webloom.cancellation import cancel_and_wait
from webloom.domain.errors import DumpRefused, Unavailable
from webloom.entrypoints.api.backup_schemas import (
    BACKUP,
    ZSTD,
    BackupContents,
    RestoreProgress,
    RestoreResult,
    RestoreState,
    backup_contents,
    restore_result,
    restore_state,
)
from webloom.entrypoints.api.bulk import NDJSON, PROGRESS_SECONDS
from webloom.entrypoints.api.memory_room import SMALL
from webloom.entrypoints.api.openapi import described, lines_of, router
from webloom.entrypoints.api.pace import Pace
from webloom.entrypoints.api.previews import while_connected
from webloom.entrypoints.api.requests import (
    InContext,
    NoParameters,
    WithServices,
    streamed_body,
)
from webloom.entrypoints.api.responses import Json, Refusal
from webloom.entrypoints.api.spooled import spooled, through_spool

log = logging.getLogger(__name__)

routes = router("/api", "backup")
Totals = dict[str, Total]

_encode = msgspec.json.Encoder().encode
_BODY = Depends(streamed_body({ZSTD: BACKUP}))


@routes.get("/backup", dependencies=[NoParameters], responses=described({200: ZSTD}, 429, 507))
async def get_backup(request: Request, context: InContext) -> Response:
    """Download everything but queues and dead letters, consistent although Webloom runs. The file
    holds the secrets of notification targets. If making it fails, the connection ends early, and a
    restore would say that the file is truncated. One at a time."""
    async with AsyncExitStack() as stack:
        stack.enter_context(context.making_backup())
        dump = context.services.make_dump(__version__)
        pieces = await stack.enter_async_context(through_spool(dump, context.services.settings))
        first = await while_connected(request.receive, _first_of(pieces))
        name = f"webloom-{context.services.clock.now():%Y-%m-%d}.zst"
        headers = {
            "Content-Disposition": f"attachment; filename={name}",
            "Cache-Control": "no-store, no-transform",
        }
        return _Held(stack.pop_all(), _following(first, pieces), 200, headers, ZSTD)


async def _first_of(pieces: AsyncGenerator[bytes]) -> bytes:
    return await anext(pieces)


async def _following(first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """In small pieces, so that the client's pace is noticed."""
    piece: bytes | None = first
    while piece is not None:
        for start in range(0, len(piece), SMALL):
            yield piece[start : start + SMALL]
        piece = await anext(rest, None)


@routes.post(
    "/restore/preview", dependencies=[NoParameters], responses=described({}, 408, 429, 507)
)
async def preview_restore(
    request: Request, context: InContext, body: Annotated[AsyncIterator[bytes], _BODY]
) -> Json[BackupContents]:
    """Read a backup to its end and say what is in it. Nothing is stored. A truncated or damaged one
    is refused."""
    with context.reading_backup():
        async with spooled(body, context.services.settings) as file:
            header, totals = await while_connected(request.receive, _checked(file))
    return Json(backup_contents(header, totals))


@routes.post(
    "/restore",
    dependencies=[NoParameters],
    responses=lines_of(RestoreProgress, RestoreResult) | described({}, 408, 409, 429, 507),
)
async def restore_backup(
    request: Request, context: InContext, body: Annotated[AsyncIterator[bytes], _BODY]
) -> Response:
    """Load a backup. What is newer here stays, so it may be repeated. The whole file is checked
    before anything is stored. The response is lines of JSON: progress (`RestoreProgress`), and at
    the end what came of it (`RestoreResult`). If the connection ends, the restore stops, and
    nothing scheduled starts until the same file has been restored, or the restore given up."""
    restore = context.services.restore
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(restore.alone())
        stack.enter_context(context.reading_backup())
        file = await stack.enter_async_context(spooled(body, context.services.settings))
        header, totals = await while_connected(request.receive, _checked(file))
        await restore.refuse_another(header)
        lines = _restoring(restore, header, totals, lambda: _reader(file))
        headers = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
        return _Held(stack.pop_all(), lines, 200, headers, NDJSON)


@routes.get("/restore", dependencies=[NoParameters])
async def get_restore(services: WithServices) -> Json[RestoreState]:
    """Get the restore that is running, or that was interrupted."""
    is_running = await services.restore.is_running()
    return Json(restore_state(await services.restore.unfinished(), is_running=is_running))


@routes.delete(
    "/restore", status_code=204, dependencies=[NoParameters], responses=described({}, 409)
)
async def give_up_restore(services: WithServices) -> Response:
    """Give an interrupted restore up: what it has loaded stays, and what is scheduled starts again.
    Feeds and watches whose data is not loaded start from nothing."""
    await services.restore.give_up()
    return Response(status_code=204)


def _reader(file: IO[bytes]) -> DumpReader:
    file.seek(0)
    return dump_reader(file)  # type: ignore[arg-type]  # a temporary file is one that can be read


async def _checked(file: IO[bytes]) -> tuple[Header, Totals]:
    reader = await asyncio.to_thread(_reader, file)
    return reader.header, await contents(reader)


async def _restoring(
    restore: Restore, header: Header, totals: Totals, opened: Callable[[], DumpReader]
) -> AsyncGenerator[bytes]:
    done: Counter[str] = Counter()
    shown: Counter[str] = Counter()

    def progress(collection: str, items: int) -> None:
        done[collection] += items

    loading = asyncio.create_task(restore.load(header, opened, progress))
    try:
        while not loading.done():
            await asyncio.wait({loading}, timeout=PROGRESS_SECONDS)
            for name in [name for name in done if done[name] != shown[name]]:
                shown[name] = done[name]
                line = RestoreProgress(collection=name, done=done[name], items=totals[name].items)
                yield _encode(line) + b"\n"
        yield _encode(_result(loading)) + b"\n"
    finally:
        await cancel_and_wait(loading)


def _result(loading: asyncio.Task[dict[str, Verdict]]) -> RestoreResult:
    try:
        return restore_result(loading.result())
    except (Unavailable, DumpRefused) as error:
        log.warning("a restore has stopped", extra={"error": str(error)})
        what = (
            f"The restore has stopped: {error}. What was loaded stays; restore the same file again "
            "to continue."
        )
        return RestoreResult(verified=False, error=what, collections=[])


class _Held(StreamingResponse):
    """A stream that holds resources until it ends, however it ends. One that fails, or whose client
    takes it too slowly, is cut: the client must not take it for complete.

    Starlette would cancel again and again what closes the resources of a client that has left."""

    def __init__(
        self,
        held: AsyncExitStack,
        source: AsyncGenerator[bytes],
        status: int,
        headers: dict[str, str],
        media_type: str,
    ) -> None:
        super().__init__(source, status, headers, media_type)
        self._held = held
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pace = Pace()

        async def sent(message: Message) -> None:
            await pace.keep(send(message), lambda _: len(message.get("body", b"")))

        async with self._held, aclosing(self._source):
            try:
                await while_connected(receive, self.stream_response(sent))
            except ClientDisconnect:
                pass
            except (Unavailable, Refusal, TimeoutError) as error:
                fields = {
                    "path": scope["path"],
                    "error": str(error) or "the client reads too slowly",
                }
                log.warning("a stream is cut off", extra=fields)
