"""Runs a program under the restrictions of a systemd unit, where systemd is not the first process.

    unshare (user, mount, process ids) -> mounts -> setpriv (no capabilities) -> seccomp -> program

    python confined.py UNIT WRITABLE KEPT... -- PROGRAM ...

WRITABLE stands for the unit's state directory. KEPT are folders that stay visible where the unit
hides what is around them. Every directive of the unit is either applied here or in `NOT_APPLIED`;
any other ends with an error, so that a new one is not left out unnoticed.

Needs unshare, setpriv, systemd-analyze (for the names of system calls) and libseccomp.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

# Directives about how systemd starts, feeds and ends a service, or that only it can apply.
NOT_APPLIED = {
    "After", "AmbientCapabilities", "Description", "DevicePolicy", "Documentation", "Environment",
    "EnvironmentFile", "ExecStart", "Group", "KeyringMode", "KillMode", "RemoveIPC", "Restart",
    "RestartSec", "StateDirectory", "StateDirectoryMode", "TimeoutStopSec", "User", "WantedBy",
    "Wants", "WorkingDirectory",
}  # fmt: skip
BY_MOUNTS = {
    "PrivateDevices", "PrivateTmp", "ProcSubset", "ProtectControlGroups", "ProtectHome",
    "ProtectKernelTunables", "ProtectProc", "ProtectSystem",
}  # fmt: skip
BY_SECCOMP = {
    "LockPersonality", "MemoryDenyWriteExecute", "ProtectClock", "ProtectHostname",
    "ProtectKernelLogs", "ProtectKernelModules", "RestrictAddressFamilies", "RestrictNamespaces",
    "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures", "SystemCallErrorNumber",
    "SystemCallFilter",
}  # fmt: skip
BY_PROGRAMS = {
    "CapabilityBoundingSet", "LimitNOFILE", "NoNewPrivileges", "PrivateUsers", "UMask",
}  # fmt: skip

NOBODY = 65534
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
HIDDEN = ("/tmp", "/var/tmp", "/home", "/root", "/run/user")  # by PrivateTmp and ProtectHome
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
SYS_MOUNT_SETATTR = 442  # the same number on every architecture
AT_FDCWD, AT_RECURSIVE, RDONLY = -100, 0x8000, 1

libc = ctypes.CDLL(None, use_errno=True)


def read(unit: Path) -> dict[str, list[str]]:
    """The directives and their values; of one that comes several times, each."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def check(directives: Iterable[str]) -> None:
    known = NOT_APPLIED | BY_MOUNTS | BY_SECCOMP | BY_PROGRAMS
    if unknown := set(directives) - known:
        raise SystemExit(f"not applied, and not known to be: {sorted(unknown)}")


def _checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    words = (source.encode(), target.encode(), kind.encode(), flags, options.encode() or None)
    _checked(libc.mount(*words), f"mount {target}")


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "users")]


def _read_only(path: str, *, on: bool) -> None:
    attributes = _Attributes(RDONLY if on else 0, 0 if on else RDONLY, 0, 0)
    flags = AT_RECURSIVE if on else 0
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(
        libc.syscall(
            SYS_MOUNT_SETATTR, AT_FDCWD, path.encode(), flags, ctypes.byref(attributes), size
        ),
        f"read-only {path}",
    )


def mounts(writable: Path, kept: list[Path]) -> None:
    """ProtectSystem=strict, ProtectHome, PrivateTmp, PrivateDevices, ProtectProc, ProcSubset."""
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    hidden = [each for each in HIDDEN if Path(each).is_dir()]
    _mount("tmpfs", "/mnt", "tmpfs")
    shown = [writable, *(each for each in kept if str(each).startswith(tuple(hidden)))]
    for number, path in enumerate(shown):
        Path(f"/mnt/{number}").mkdir()
        _mount(str(path), f"/mnt/{number}", "", MS_BIND | MS_REC)
    for each in hidden:
        _mount("tmpfs", each, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for number, path in sorted(enumerate(shown), key=lambda row: len(row[1].parts)):
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/mnt/{number}", str(path), "", MS_BIND | MS_REC)
    _mount("tmpfs", "/mnt", "tmpfs")  # over what was put there
    _devices()
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV, "hidepid=invisible,subset=pid")
    _read_only("/", on=True)
    for place in (str(writable), "/tmp", "/var/tmp", "/dev/shm"):
        if os.path.ismount(place):
            _read_only(place, on=False)


def _devices() -> None:
    for number, name in enumerate(DEVICES):
        Path(f"/mnt/{number}").touch()
        _mount(f"/dev/{name}", f"/mnt/{number}", "", MS_BIND)
    _mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755")
    for number, name in enumerate(DEVICES):
        Path(f"/dev/{name}").touch()
        _mount(f"/mnt/{number}", f"/dev/{name}", "", MS_BIND)
    Path("/dev/shm").mkdir()
    _mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path(f"/dev/{name}").symlink_to(f"/proc/self/fd{target}")


# --- system calls ---

SCMP_ALLOW = 0x7FFF0000
NE, LT, EQ, GT, MASKED = 1, 2, 4, 6, 7


def _refuse(code: int) -> int:
    return 0x00050000 | code


class _Compared(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("how", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    ]


class Filter:
    """One seccomp filter. A process may have several: the strictest answer counts."""

    def __init__(self, default: int) -> None:
        self._seccomp = ctypes.CDLL("libseccomp.so.2")
        self._seccomp.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._seccomp.seccomp_init(ctypes.c_uint32(default)))

    def rule(self, action: int, call: str, *compared: tuple[int, int, int, int]) -> None:
        number = self._seccomp.seccomp_syscall_resolve_name(call.encode())
        if number == -1:  # of another architecture, or newer than libseccomp
            return
        array = (_Compared * len(compared))(*(_Compared(*each) for each in compared))
        done = self._seccomp.seccomp_rule_add_array(
            self._context, ctypes.c_uint32(action), number, len(compared), array
        )
        if done not in (0, -errno.EOPNOTSUPP, -errno.EDOM):
            raise OSError(-done, f"seccomp: {call}: {os.strerror(-done)}")

    def load(self) -> None:
        done = self._seccomp.seccomp_load(self._context)
        if done:
            raise OSError(-done, f"seccomp: {os.strerror(-done)}")


def groups() -> dict[str, set[str]]:
    """systemd's names for groups of system calls."""
    found: dict[str, set[str]] = {}
    reported = subprocess.run(
        ("systemd-analyze", "--no-pager", "syscall-filter"),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    name = ""
    for line in reported.splitlines():
        if line.startswith("@"):
            name = line.strip()
            found[name] = set()
        elif name and line.startswith(" ") and not line.strip().startswith("#"):
            found[name].add(line.strip())
        elif not line.startswith(" "):
            name = ""
    return found


def allowed(lines: Iterable[str], known: dict[str, set[str]]) -> set[str]:
    """What the lines of SystemCallFilter= allow together."""

    def calls(words: Iterable[str]) -> set[str]:
        flat: set[str] = set()
        for word in words:
            flat |= calls(known[word]) if word.startswith("@") else {word}
        return flat

    found: set[str] = set()
    for line in lines:
        if line.startswith("~"):
            found -= calls(line[1:].split())
        else:
            found |= calls(line.split())
    return found | calls(["@default"])


def filters(unit: dict[str, list[str]]) -> list[Filter]:
    """What systemd makes of the unit's directives, each as a filter of its own."""
    listed = Filter(_refuse(errno.EPERM))
    # The loader of this program comes after the filter; systemd's does too.
    for call in sorted(allowed(unit["SystemCallFilter"], groups()) | {"execve", "exit_group"}):
        listed.rule(SCMP_ALLOW, call)

    families = Filter(SCMP_ALLOW)
    numbers = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
    permitted = sorted(numbers[each] for each in unit["RestrictAddressFamilies"][0].split())
    for family in set(range(50)) - set(permitted):
        families.rule(_refuse(errno.EAFNOSUPPORT), "socket", (0, EQ, family, 0))

    memory = Filter(SCMP_ALLOW)
    write_execute = 2 | 4
    memory.rule(_refuse(errno.EPERM), "mmap", (2, MASKED, write_execute, write_execute))
    for call in ("mprotect", "pkey_mprotect"):
        memory.rule(_refuse(errno.EPERM), call, (2, MASKED, 4, 4))
    memory.rule(_refuse(errno.EPERM), "shmat", (2, MASKED, 0o100000, 0o100000))

    rest = Filter(SCMP_ALLOW)
    rest.rule(_refuse(errno.ENOSYS), "clone3")  # its flags are not seen by a filter
    for flag in (
        0x00020000,
        0x02000000,
        0x04000000,
        0x08000000,
        0x10000000,
        0x20000000,
        0x40000000,
    ):
        rest.rule(_refuse(errno.EPERM), "clone", (0, MASKED, flag, flag))
    for call in ("unshare", "setns"):
        rest.rule(_refuse(errno.EPERM), call)
    rest.rule(_refuse(errno.EPERM), "personality", (0, NE, 0, 0))
    for policy in (1, 2, 6):  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
        rest.rule(_refuse(errno.EPERM), "sched_setscheduler", (1, EQ, policy, 0))
    for call, argument in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2)):
        for bit in (0o4000, 0o2000):
            rest.rule(_refuse(errno.EPERM), call, (argument, MASKED, bit, bit))
    return [families, memory, rest, listed]


def main() -> None:
    stage, words = sys.argv[1], sys.argv[2:]
    if stage not in ("--mounts", "--seccomp"):
        stage, words = "", sys.argv[1:]
    end = words.index("--")
    (unit_path, writable, *kept), program = [Path(each) for each in words[:end]], words[end + 1 :]
    again = (sys.executable, __file__)
    unit = read(unit_path)
    if not stage:
        check(unit)
        os.execvp(
            "unshare",
            ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--keep-caps",
             "--mount", "--pid", "--fork", "--kill-child", *again, "--mounts", *words],
        )  # fmt: skip
    if stage == "--mounts":
        mounts(writable, kept)
        os.execvp(
            "setpriv",
            ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
             "--ambient-caps=-all", *again, "--seccomp", *words],
        )  # fmt: skip
    os.umask(int(unit["UMask"][0], 8))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = min(int(unit["LimitNOFILE"][0]), hard)  # to raise it is for the first process
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    os.chdir(writable)
    for each in filters(unit):
        each.load()
    os.execvp(program[0], program)


if __name__ == "__main__":
    main()
