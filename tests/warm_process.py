"""A process that has imported webloom, and runs each command in a fork of itself: importing takes
more of the processor than most commands, and than the start of a server. A command is webloom or a
Python program that uses it. See `forks`.

Its argument is the descriptor of a socket. Each message there is one command, as JSON, with four
descriptors: a socket that receives the command's process id and then its exit code, and the
command's standard input, output and error.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
from importlib import import_module

import webloom

LONGEST_MESSAGE = 1 << 20


def import_everything() -> None:
    for module in pkgutil.walk_packages(webloom.__path__, "webloom."):
        if not module.name.endswith(("__main__", ".child")):
            import_module(module.name)
    gc.collect()
    gc.freeze()


def next_command(orders: socket.socket) -> tuple[str, list[str], list[int]] | None:
    """In a process for each command: its program, its arguments and its descriptors. None when
    there are no more."""
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
    return order["program"], order["arguments"], descriptors


def main() -> None:
    import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes that wait are not waited for
    command = next_command(socket.socket(fileno=int(sys.argv[1])))
    if command is None:
        return
    program, arguments, (reported, *standard) = command
    if process := os.fork():
        os.write(reported, process.to_bytes(4))
        _, status = os.waitpid(process, 0)
        os.write(reported, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
    os.closerange(3, max(reported, *standard) + 1)
    if "PYTHONUNBUFFERED" in os.environ:
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.argv = [program, *arguments]
    try:
        if program == "webloom":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            raise
        end(ended.code or 0)
    end(0)


def end(code: int) -> None:
    """As Python ends, except that it does not take apart everything that was imported: in a fork,
    where each page that is touched is copied, this takes more than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
