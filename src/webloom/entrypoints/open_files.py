"""How many files, connections and pipes this process may have open."""

from __future__ import annotations

import resource
from contextlib import suppress

ENOUGH = 65_536


def raise_open_files_limit() -> None:
    """Raise the soft limit towards the hard one. Many systems start programs with 1,024, for the
    sake of old ones that use select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def open_files_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENOUGH if soft == resource.RLIM_INFINITY else soft
