"""What this machine has run out of is recognised, waited for and reported."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from dataclasses import replace

import pytest

from contracts.test_heartbeats import WORKER
from webloom.adapters.sandbox.parent import is_out_of_files
from webloom.application.overview.troubles import exhausted
from webloom.application.retrying import retry_until_available
from webloom.application.shortage import Shortage, shortage
from webloom.domain.errors import Exhausted, FetchFailed, ResourcesExhausted, StoreUnavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.entrypoints import scheduler
from webloom.ports.heartbeats import Heartbeat


def caused_by(error: BaseException) -> BaseException:
    outer = FetchFailed(reason="no connection", retryable=True)
    outer.__cause__ = error
    return outer


NO_SPOONS = Exhausted("no spoons", "buy some")
ERRORS = [
    (OSError(errno.EMFILE, ""), "limit of open files", "descriptors of the process"),
    (OSError(errno.ENFILE, ""), "fs.file-max", "those of the machine"),
    (OSError(errno.ENOBUFS, ""), "memory", "buffers"),
    (OSError(errno.ENOMEM, ""), "memory", "memory"),
    (RuntimeError("can't start new thread"), "processes and threads", "threads"),
    (caused_by(OSError(errno.EMFILE, "")), "limit of open files", "as the cause"),
    (caused_by(ResourcesExhausted(NO_SPOONS)), "spoons", "as it is"),
    (OSError(errno.ECONNREFUSED, ""), None, "the fault of another machine"),
    (OSError(errno.EADDRNOTAVAIL, ""), None, "what may be a machine without IPv6"),
    (socket.gaierror(socket.EAI_NONAME, ""), None, "a name that does not exist"),
    (OSError(errno.ENOSPC, ""), None, "a full disk, which is reported elsewhere"),
    (RuntimeError("bug"), None, "a bug"),
]


@pytest.mark.parametrize(("error", "part", "why"), ERRORS, ids=[row[2] for row in ERRORS])
def test_exhaustion_is_distinguished_from_other_errors(
    error: BaseException, part: str | None, why: str
) -> None:
    found = exhaustion_in(error)
    if part is None:
        assert found is None
    else:
        assert part in str(found)


WORDS = [
    (1, "OSError: [Errno 24] Too many open files: 'x'", True, "Python"),
    (1, "ImportError: lib.so: cannot open shared object file: Error 24", True, "the linker"),
    (1, "OSError: [Errno 23] Too many open files in system", True, "the machine"),
    (82, "", True, "our own code for it"),
    (-9, "OSError: [Errno 24] Too many open files", False, "killed, whatever it said before"),
    (1, "ValueError: [Errno 2] no such file", False, "another error"),
    (1, "", False, "nothing said"),
]


@pytest.mark.parametrize(("code", "words", "ours", "why"), WORDS, ids=[row[3] for row in WORDS])
def test_a_child_without_descriptors_is_known_by_its_end(
    code: int, words: str, ours: bool, why: str
) -> None:
    assert is_out_of_files(code, words) is ours


class Scarce:
    """Can be done at the third try."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.tries = 0
        self.reasons: list[Exhausted | None] = []

    async def __call__(self) -> int:
        self.tries += 1
        self.reasons.append(shortage.reason)
        if self.tries < 3:
            raise self.error
        return self.tries


async def test_it_is_waited_for_and_reported_until_it_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    shortage._logged_at = float("-inf")
    work = Scarce(ResourcesExhausted(NO_SPOONS))
    assert await retry_until_available(work) == 3
    assert work.reasons == [None, NO_SPOONS, NO_SPOONS]
    assert shortage.reason is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert vars(caplog.records[0])["error"] == "no spoons: buy some"


async def test_a_store_that_can_not_be_opened_for_it_is_reported_as_well() -> None:
    error = StoreUnavailable("unable to open database file")
    error.__cause__ = OSError(errno.EMFILE, "Too many open files")
    work = Scarce(error)
    assert await retry_until_available(work) == 3
    assert "limit of open files" in str(work.reasons[1])


async def test_nothing_waits_for_what_was_given_up() -> None:
    tried = asyncio.Event()

    async def never() -> None:
        tried.set()
        raise ResourcesExhausted(NO_SPOONS)

    task = asyncio.create_task(retry_until_available(never))
    await tried.wait()
    await asyncio.sleep(0)
    assert shortage.reason == NO_SPOONS
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shortage.reason is None


def test_one_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    found = Shortage()
    for _ in range(100):
        for work in ("a", "b"):
            found.begin(work, NO_SPOONS)
        found.begin("a", NO_SPOONS)
        for work in ("a", "b"):
            found.end(work)
    assert found.reason is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, ""), ResourcesExhausted(NO_SPOONS)])
async def test_a_scheduler_continues_after_a_tick_without_resources(error: Exception) -> None:
    stop = asyncio.Event()
    work = Scarce(error)

    async def tick() -> None:
        if await work() == 3:
            stop.set()

    await scheduler._repeat(tick, stop, pause=0.001)
    assert work.reasons[0] is None
    assert None not in work.reasons[1:]
    assert shortage.reason is None


def test_processes_that_wait_are_named(beat: Heartbeat) -> None:
    assert exhausted([beat]) is None
    waiting = replace(beat, exhausted="no spoons", remedy="buy some")
    other = replace(waiting, pid=2, exhausted="no forks", remedy="use your hands")
    old = replace(beat, exhausted="no knives: buy some")  # of an earlier version
    assert exhausted([waiting, beat]) == ("worker 1 on host: no spoons", "buy some")
    assert exhausted([waiting, other, old]) == (
        "worker 1 on host: no spoons; worker 2 on host: no forks; "
        "worker 1 on host: no knives: buy some",
        "buy some; use your hands",
    )


@pytest.fixture
def beat() -> Heartbeat:
    return replace(WORKER, host="host", pid=1, exhausted=None, remedy=None)
