"""A process that has imported webloom, and runs each command in a fork of itself: importing takes
more of the processor than most commands, and than the start of a server. See `forks`.

Its argument is the descriptor of a socket. Each message there is one command, as JSON, with four
descriptors: a socket that is told the command's process and then its exit code, and the command's
standard input, output and error.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
from importlib import import_module

import webloom

LONGEST_MESSAGE = 1 << 20


def import_everything() -> None:
    for module in pkgutil.walk_packages(webloom.__path__, "webloom."):
        if not module.name.endswith(("__main__", ".child")):
            import_module(module.name)
    gc.collect()
    gc.freeze()


def next_command(orders: socket.socket) -> tuple[list[str], list[int]] | None:
    """In a process for each command: its arguments and its descriptors. None when there are no
    more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, LONGEST_MESSAGE, 4)
        if not message:
            return None
        if os.fork() == 0:
            break
        for each in descriptors:
            os.close(each)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    orders.close()
    order = json.loads(message)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    return order["arguments"], descriptors


def main() -> None:
    import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait
    command = next_command(socket.socket(fileno=int(sys.argv[1])))
    if command is None:
        return
    arguments, (told, *standard) = command
    if process := os.fork():
        os.write(told, process.to_bytes(4))
        _, status = os.waitpid(process, 0)
        os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    os.closerange(3, max(told, *standard) + 1)
    if "PYTHONUNBUFFERED" in os.environ:
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.argv = ["webloom", *arguments]
    runpy.run_module("webloom", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
