"""What this machine has run out of is recognised, waited for and reported."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from dataclasses import replace

import pytest

from webloom.adapters.sandbox.parent import is_out_of_files
from webloom.application.overview.liveness import exhausted
from webloom.application.retrying import retry_until_available
from webloom.application.shortage import Shortage, shortage
from webloom.domain.errors import FetchFailed, ResourcesExhausted, StoreUnavailable
from webloom.domain.exhaustion import exhaustion_in
from webloom.entrypoints import scheduler
from webloom.ports.heartbeats import Heartbeat


def caused_by(error: BaseException) -> BaseException:
    outer = FetchFailed(reason="no connection", retryable=True)
    outer.__cause__ = error
    return outer


ERRORS = [
    (OSError(errno.EMFILE, ""), "limit of open files", "descriptors of the process"),
    (OSError(errno.ENFILE, ""), "fs.file-max", "those of the machine"),
    (OSError(errno.ENOBUFS, ""), "memory", "buffers"),
    (OSError(errno.ENOMEM, ""), "memory", "memory"),
    (RuntimeError("can't start new thread"), "processes and threads", "threads"),
    (caused_by(OSError(errno.EMFILE, "")), "limit of open files", "as the cause"),
    (caused_by(ResourcesExhausted("spoons")), "spoons", "as it is"),
    (OSError(errno.ECONNREFUSED, ""), None, "somebody else's fault"),
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
        self.reasons: list[str | None] = []

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
    work = Scarce(ResourcesExhausted("no spoons: buy some"))
    assert await retry_until_available(work) == 3
    assert work.reasons == [None, "no spoons: buy some", "no spoons: buy some"]
    assert shortage.reason is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert vars(caplog.records[0])["error"] == "no spoons: buy some"


async def test_a_store_that_can_not_be_opened_for_it_is_reported_as_well() -> None:
    error = StoreUnavailable("unable to open database file")
    error.__cause__ = OSError(errno.EMFILE, "Too many open files")
    work = Scarce(error)
    assert await retry_until_available(work) == 3
    assert "limit of open files" in (work.reasons[1] or "")


async def test_what_is_given_up_is_not_waited_for_any_more() -> None:
    tried = asyncio.Event()

    async def never() -> None:
        tried.set()
        raise ResourcesExhausted("no spoons")

    task = asyncio.create_task(retry_until_available(never))
    await tried.wait()
    await asyncio.sleep(0)
    assert shortage.reason == "no spoons"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shortage.reason is None


def test_one_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    found = Shortage()
    for _ in range(100):
        for work in ("a", "b"):
            found.begin(work, "no spoons")
        found.begin("a", "no spoons")
        for work in ("a", "b"):
            found.end(work)
    assert found.reason is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, ""), ResourcesExhausted("no spoons")])
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
    waiting = replace(beat, exhausted="no spoons: buy some")
    other = replace(waiting, pid=2, exhausted="no forks: buy some")
    assert exhausted([waiting, beat]) == "worker 1 on host: no spoons: buy some"
    assert exhausted([waiting, other]) == (
        "worker 1 on host: no spoons: buy some; worker 2 on host: no forks: buy some"
    )


@pytest.fixture
def beat() -> Heartbeat:
    from fakes.clock import NOON

    return Heartbeat(
        process_id="p",
        role="worker",
        host="host",
        pid=1,
        slots=1,
        in_flight=0,
        completed=0,
        retried=0,
        failed=0,
        started_at=NOON,
    )
