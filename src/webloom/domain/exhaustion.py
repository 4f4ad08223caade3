"""Errors that mean that this machine has run out of a resource, whatever was being tried."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from webloom.domain.errors import Exhausted, ResourcesExhausted

DESCRIPTORS = Exhausted(
    "this process has as many files and connections open as it may",
    "raise its limit of open files (`ulimit -n`, LimitNOFILE= of systemd), or lower WEBLOOM_SLOTS",
)
FILES_OF_THE_MACHINE = Exhausted(
    "this machine has as many files open as its kernel allows",
    "raise fs.file-max, or find the program that keeps so many",
)
MEMORY = Exhausted(
    "this machine has no memory left for another connection or process",
    "give it more, or stop what uses it",
)
PORTS = Exhausted(
    "this machine has no local port left for another connection",
    "raise net.ipv4.ip_local_port_range, or lower WEBLOOM_SLOTS",
)
PROCESSES = Exhausted(
    "this user or machine has as many processes and threads as it may",
    "raise that limit (`ulimit -u`, TasksMax= of systemd)",
)

_BY_NUMBER = {
    errno.EMFILE: DESCRIPTORS,
    errno.ENFILE: FILES_OF_THE_MACHINE,
    errno.ENOBUFS: MEMORY,
    errno.ENOMEM: MEMORY,
}
_NO_THREAD = "can't start new thread"  # Python has no class for it


def exhaustion_in(error: BaseException) -> ResourcesExhausted | None:
    """None for an error with another cause."""
    for each in _chain(error):
        if isinstance(each, ResourcesExhausted):
            return each
        if isinstance(each, OSError) and each.errno in _BY_NUMBER:
            return ResourcesExhausted(_BY_NUMBER[each.errno])
        if isinstance(each, RuntimeError) and str(each) == _NO_THREAD:
            return ResourcesExhausted(PROCESSES)
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
