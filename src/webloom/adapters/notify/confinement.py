"""Applies the network policy to code that opens its own connections.

Python reports events to audit hooks before they happen, and a hook that raises prevents them. A
hook can't be removed. It sees everything done in Python by any library, but not what native code
does directly.
"""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import threading
from typing import Any

from webloom.adapters.notify.frames import Refused
from webloom.adapters.own_addresses import is_own_address
from webloom.domain.network_policy import NetworkPolicy, RefusalReason

_PUBLIC_ONLY = NetworkPolicy.parse()
_WEB_PORT = 443
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PYTHON = ("stdlib", "platstdlib", "purelib", "platlib")
_READABLE_DEVICES = ("/dev/null", "/dev/urandom")
_MOST_REFUSED = 50  # that are reported

# Events, or prefixes of their names. Reading and connecting are checked in detail.
_REFUSED = (
    "ctypes.",
    "fcntl.",
    "ftplib.",
    "msvcrt.",
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.link",
    "os.lockf",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.spawn",
    "os.startfile",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "pty.",
    "shutil.",
    "signal.pthread_kill",
    "socket.bind",
    "sqlite3.",
    "subprocess.",
    "syslog.",
    "telnetlib.",
    "tempfile.",
    "webbrowser.",
    "winreg.",
)


class Confined(PermissionError):
    """An OSError, which libraries expect when a connection or file can't be opened."""


class Confinement:
    """Confines a process to connections that the policy allows, and to reading Python's own files.
    `ports` are also allowed for public addresses, although web requests may not use them."""

    def __init__(self, policy: NetworkPolicy, ports: frozenset[int]) -> None:
        self._policy = policy
        self._ports = ports
        # The latest since a connection was allowed.
        self.refusal: Refused | str | None = None
        self.refused: list[Refused] = []  # by the gate
        self._asking = threading.local()  # set while our own check uses sockets
        self.connections = 0  # that were allowed
        places = {*filter(None, sys.path), *map(sysconfig.get_path, _PYTHON)}
        self._readable = tuple(os.path.realpath(each) + os.sep for each in places)

    def begin(self) -> None:
        """Until the process ends."""
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if getattr(self._asking, "now", False):
            return
        reason: Refused | str | None
        if event == "open":
            reason = self._of_file(*arguments)
        elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            connection, address = arguments
            if address is None:  # already connected
                return
            reason = self._of_connection(connection, address)
            self.refusal = None
            self.connections += reason is None
        elif event.startswith(_REFUSED):
            reason = f"the service may not do {event} here"
        else:
            return
        if reason is not None:
            self.refusal = reason
            raise Confined(reason.detail if isinstance(reason, Refused) else reason)

    def _of_connection(self, connection: socket.socket, address: Any) -> Refused | str | None:
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return "the service connects to something other than an address on the network"
        host, port = address[0], address[1]
        try:
            refusal = self._policy.refusal(host, port, self._is_own)
            is_public = _PUBLIC_ONLY.refusal(host, _WEB_PORT) is None
        except ValueError:  # a name, which would be looked up after this
            return "the service connects to a name, whose address can't be checked"
        if refusal is None:
            return None
        if refusal.reason is RefusalReason.PORT and port in self._ports and is_public:
            return None
        refused = Refused(address=host, port=port, reason=refusal.reason, detail=refusal.detail)
        if len(self.refused) < _MOST_REFUSED:
            self.refused.append(refused)
        return refused

    def _is_own(self, address: str) -> bool:
        self._asking.now = True
        try:
            return is_own_address(address)
        finally:
            self._asking.now = False

    def _of_file(self, path: Any, mode: Any, flags: int) -> str | None:
        if isinstance(path, int):  # already open
            return None
        place = os.path.realpath(os.fsdecode(path))
        if place in _READABLE_DEVICES:
            return None
        if flags & _WRITES:
            return "the service may not write files"
        if place.startswith(self._readable):
            return None
        return "the service may not read files of this machine"
