"""What a process that reads other people's data does first: it is bounded, and ends with its
parent."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys

OUT_OF_FILES = 82  # the exit code of a child that could not open a file for want of a descriptor
MOST_MEMORY = 1024 * 1024 * 1024
_PR_SET_PDEATHSIG = 1
_OBJECTS_BETWEEN_COLLECTIONS = 100_000  # reading makes many objects, and no cycles


def bound(parent: int, memory: int = MOST_MEMORY) -> None:
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before
            raise SystemExit
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
