"""Servers that all tests of a process share: started for the first, ended with the run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from servers.private import PrivateServer


class SharedServers:
    def __init__(self, stack: ExitStack, folders: pytest.TempPathFactory) -> None:
        self._stack = stack
        self._folders = folders
        self._running: dict[str, PrivateServer] = {}

    def get(self, name: str, make: Callable[..., PrivateServer], **options: str) -> PrivateServer:
        """Raises `Missing` or `DidNotStart`."""
        if name not in self._running:
            server = make(self._folders.mktemp(name), **options)
            self._stack.enter_context(server.running())
            self._running[name] = server
        return self._running[name]
