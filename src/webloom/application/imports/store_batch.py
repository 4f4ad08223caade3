"""Serve one delivery of `import-feed`.

    decode -> set aside what is not a posting -> apply to the store -> settle

The message is settled only after the store has the batch and its row in the run's ledger. If a
process dies before, the message is redelivered and the store finds what is left to do.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from webloom.application.retrying import retry_until_available
from webloom.domain.import_run import LONGEST_SAMPLE, Failure, Mark
from webloom.parsing.job_posting import ImportBatch, JobPosting, dedupe_key
from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large
from webloom.ports.broker import Delivery
from webloom.ports.postings import Batch, Postings

MOST_DELIVERIES = 20  # of a batch whose workers keep dying

MOST_POSTINGS = 10_000  # per message; Webloom's own have at most half as many
KEY_DIGITS, KNOWN_DIGITS = 40, 72
LIMITS = JsonLimits(values=50 * MOST_POSTINGS, depth=None)
ONE_POSTING = JsonLimits(values=10_000)

_HEX = re.compile("[0-9a-f]*")
_usual_batches = msgspec.json.Decoder(ImportBatch[JobPosting])
_batches = msgspec.json.Decoder(ImportBatch[msgspec.Raw])
_postings = msgspec.json.Decoder(JobPosting)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreBatch:
    store: Postings

    async def __call__(self, delivery: Delivery) -> None:
        try:
            message = decoded(delivery.body)
            if message.batch_index < 0:
                raise msgspec.ValidationError("batchIndex is negative")
            if len(message.known) % KNOWN_DIGITS or _HEX.fullmatch(message.known) is None:
                raise msgspec.ValidationError("known is not made of keys and hashes")
            if len(message.jobs) + len(message.known) // KNOWN_DIGITS > MOST_POSTINGS:
                raise JsonTooLarge(f"more than {MOST_POSTINGS:,} postings")
        except (msgspec.MsgspecError, JsonTooLarge, RecursionError, UnicodeError) as error:
            reason = f"not an import batch: {error}"
            await retry_until_available(lambda: delivery.dead_letter(reason))
            return
        mark = Mark(message.run_id, message.batch_index)
        if delivery.redelivered and delivery.attempt > MOST_DELIVERIES:
            records = len(message.jobs) + len(message.known) // KNOWN_DIGITS
            await self._give_up(delivery, mark, records)
            return
        batch = batch_of(message, mark)
        # A batch is not applied if its run has ended, or if postings that it calls known are not:
        # then its producer misses it in the ledger and sends all of them.
        await retry_until_available(lambda: self.store.apply_batch(batch))
        await retry_until_available(delivery.ack)

    async def _give_up(self, delivery: Delivery, mark: Mark, records: int) -> None:
        reason = f"its worker died {delivery.attempt - 1} times"
        failure = Failure(reason=reason, sample=f"batch {mark.batch_index}")
        await retry_until_available(lambda: self.store.fail_batch(mark, [failure], failed=records))
        await retry_until_available(lambda: delivery.dead_letter(reason))


def decoded(body: bytes) -> ImportBatch[JobPosting] | ImportBatch[msgspec.Raw]:
    """Raises JsonTooLarge, MsgspecError, UnicodeError."""
    refuse_too_large(body, LIMITS)
    try:
        return _usual_batches.decode(body)
    except (msgspec.MsgspecError, UnicodeError):
        return _batches.decode(body)


def batch_of(message: ImportBatch[JobPosting] | ImportBatch[msgspec.Raw], mark: Mark) -> Batch:
    postings: dict[str, JobPosting] = {}
    failures: list[Failure] = []
    for given in message.jobs:
        try:
            posting = (
                given if isinstance(given, JobPosting) else _posting(given, message.source_url)
            )
            if not posting.title.strip():
                raise msgspec.ValidationError("title is missing")
            if not (posting.external_id or posting.job_url):
                raise msgspec.ValidationError("externalId and jobUrl are missing")
        except (msgspec.MsgspecError, JsonTooLarge, UnicodeError, OverflowError) as error:
            raw = msgspec.json.encode(given) if isinstance(given, JobPosting) else bytes(given)
            sample = raw.decode(errors="replace")[:LONGEST_SAMPLE]
            failures.append(Failure(reason=f"not a posting: {error}", sample=sample))
        else:
            postings.setdefault(posting.dedupe_key, posting)
    return Batch(
        mark=mark,
        source_url=message.source_url,
        postings=list(postings.values()),
        duplicates=len(message.jobs) - len(postings) - len(failures),
        failures=failures,
        known=[
            (message.known[start : start + KEY_DIGITS], message.known[start + KEY_DIGITS : end])
            for start in range(0, len(message.known), KNOWN_DIGITS)
            for end in (start + KNOWN_DIGITS,)
        ],
    )


def _posting(raw: msgspec.Raw, source_url: str) -> JobPosting:
    try:
        return _postings.decode(raw)
    except msgspec.ValidationError:
        pass
    refuse_too_large(bytes(raw), ONE_POSTING)
    return _completed(msgspec.json.decode(raw), source_url)


def _completed(fields: Any, source_url: str) -> JobPosting:
    """For other producers, which may leave out what can be computed."""
    if not isinstance(fields, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(fields).__name__}`")
    given = {name: value for name, value in fields.items() if value not in (None, "")}
    given.setdefault("sourceUrl", source_url)
    given.setdefault("sourceName", source_url)
    external_id, job_url = given.get("externalId"), given.get("jobUrl")
    if isinstance(external_id, int):
        external_id = given["externalId"] = str(external_id)
    for name in ("publishedAt", "expiresAt"):
        if isinstance(given.get(name), str):
            given[name] = _utc(given[name])
    given.setdefault("dedupeKey", dedupe_key(given["sourceUrl"], external_id, job_url))
    if "contentHash" not in given:
        content = msgspec.json.encode(given, order="deterministic")
        given["contentHash"] = hashlib.blake2b(content, digest_size=16).hexdigest()
    return msgspec.convert(given, JobPosting)


def _utc(text: str) -> datetime:
    moment = msgspec.convert(text, datetime)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
