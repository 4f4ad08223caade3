"""Download a feed to the spool, unless it is unmodified."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from webloom.domain.backoff import Backoff
from webloom.domain.errors import FetchFailed
from webloom.domain.exhaustion import exhaustion_in
from webloom.domain.feed import LastFetch
from webloom.domain.retry import is_retryable
from webloom.domain.spool import KNOWN_FOLDER
from webloom.jitter import jitter
from webloom.ports.fetcher import Downloaded, Downloader
from webloom.ports.import_runs import Claim
from webloom.private_files import make_spool

FETCH_ATTEMPTS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Obtained:
    path: Path
    fetched: LastFetch  # makes the next fetch conditional
    bytes: int | None = None
    content_type: str | None = None
    is_unmodified: bool = False  # then there is no file


@dataclass(frozen=True, kw_only=True, slots=True)
class ObtainFeed:
    downloader: Downloader
    spool: Path
    retries: Backoff

    def path_of(self, run_id: str) -> Path:
        return self.spool / f"{run_id}.feed"

    async def __call__(self, claim: Claim) -> Obtained:
        """Raises FetchFailed, ResourcesExhausted. The file of an earlier producer of the run is
        used as it is. If it is gone although that producer had read some of it, the feed is fetched
        unconditionally."""
        path = self.path_of(claim.run.run_id)
        expected = claim.run.reading.content_hash
        if expected is not None and (left := await asyncio.to_thread(_left, path, expected)):
            return _obtained(path, left)
        is_forced = claim.run.retry_of is not None or expected is not None
        known = LastFetch() if is_forced else claim.feed.last_fetch
        got = await self._download(claim, path, known)
        if got.status_code == 304:
            return Obtained(path=path, fetched=known, is_unmodified=True)
        if not 200 <= got.status_code <= 299:
            raise FetchFailed(
                reason=f"the server answered {got.status_code}",
                retryable=True,
                retry_after=got.retry_after,
            )
        is_unmodified = known.content_hash is not None and known.content_hash == got.sha256
        return _obtained(path, got, is_unmodified=is_unmodified)

    def known(self, claim: Claim) -> Path | None:
        """What an earlier import learnt about the feed, unless everything is to be read again."""
        if claim.feed.last_run_id is None or claim.run.retry_of is not None:
            return None
        return self.spool / KNOWN_FOLDER / claim.feed.feed_id

    async def keep(self, claim: Claim, learnt: Path) -> None:
        """For `known` of the next import, which only takes longer without it."""
        path = self.spool / KNOWN_FOLDER / claim.feed.feed_id
        with suppress(OSError):
            await asyncio.to_thread(path.parent.mkdir, exist_ok=True)
            await asyncio.to_thread(learnt.replace, path)

    async def forget(self, claim: Claim) -> None:
        """So that the next import reads all records, because it is unknown which are stored."""
        path = self.spool / KNOWN_FOLDER / claim.feed.feed_id
        with suppress(OSError):  # then the store compares them
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def clear(self, run_id: str) -> None:
        with suppress(OSError):  # `ClearSpool` tries again
            for path in await asyncio.to_thread(list, self.spool.glob(f"{run_id}.*")):
                await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _download(self, claim: Claim, path: Path, known: LastFetch) -> Downloaded:
        part = path.with_suffix(f".{claim.token}.part")
        try:
            await asyncio.to_thread(make_spool, self.spool)
            await asyncio.to_thread(_remove_others, part)
            got = await self._download_with_retry(claim.feed.config.fetch_url, part, known)
            if 200 <= got.status_code <= 299:
                await asyncio.to_thread(_answer(path).write_bytes, msgspec.json.encode(got))
                await asyncio.to_thread(part.replace, path)
            return got
        except OSError as error:
            raise exhaustion_in(error) or FetchFailed(
                reason=f"the feed can't be written to {self.spool}: {error.strerror or error}",
                retryable=True,
            ) from error
        finally:
            await asyncio.to_thread(part.unlink, missing_ok=True)

    async def _download_with_retry(self, url: str, part: Path, known: LastFetch) -> Downloaded:
        for failures in range(1, FETCH_ATTEMPTS):
            try:
                got = await self.downloader.download(url, part, known=known)
            except FetchFailed as failure:
                if not failure.retryable:
                    raise
            else:
                if got.retry_after or not is_retryable(got.status_code):
                    return got
            await asyncio.sleep(self.retries.delay(failures, jitter=jitter()))
        return await self.downloader.download(url, part, known=known)


def _remove_others(part: Path) -> None:
    """Of earlier producers of the run: they would take up space."""
    for other in part.parent.glob(f"{part.name.partition('.')[0]}.*.part"):
        if other != part:
            other.unlink(missing_ok=True)


def _obtained(path: Path, got: Downloaded, *, is_unmodified: bool = False) -> Obtained:
    return Obtained(
        path=path,
        fetched=LastFetch(etag=got.etag, last_modified=got.last_modified, content_hash=got.sha256),
        bytes=got.bytes,
        content_type=got.content_type,
        is_unmodified=is_unmodified,
    )


def _answer(path: Path) -> Path:
    """The file with the response's metadata: its charset decides how the feed is read."""
    return path.with_name(path.name + ".answer")


def _left(path: Path, expected: str) -> Downloaded | None:
    """The download of an earlier producer of the run, if it is complete."""
    try:
        got = msgspec.json.decode(_answer(path).read_bytes(), type=Downloaded)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, msgspec.MsgspecError) as error:
        if exhausted := exhaustion_in(error):
            raise exhausted from error
        return None
    return got if got.sha256 == sha256 == expected else None
