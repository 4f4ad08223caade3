"""What Linux tells of processes that may end while it is asked."""

from __future__ import annotations

from pathlib import Path


def children_of(parent: int, *, running: bytes) -> list[int]:
    """Those that still run and have `running` in their command, by number."""
    numbers = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())
    return sorted(
        number for number in numbers if _parent(number) == parent and running in _command(number)
    )


def states(process: int) -> set[str]:
    """Of its threads, by the kernel's letters."""
    reported = (_stat(task) for task in Path(f"/proc/{process}/task").iterdir())
    return {fields[0] for fields in reported if fields}


def environment(process: int) -> bytes:
    return Path(f"/proc/{process}/environ").read_bytes()


def is_there(process: int) -> bool:
    """Also as a zombie."""
    return Path(f"/proc/{process}").exists()


def memory(process: int) -> int:
    """Bytes of RAM that it takes now."""
    return _memory(process, "VmRSS")


def peak_memory(process: int) -> int:
    """The most that it took since it began, or since `forget_peak`."""
    return _memory(process, "VmHWM")


def forget_peak(process: int) -> None:
    Path(f"/proc/{process}/clear_refs").write_text("5")


def _memory(process: int, field: str) -> int:
    reported = Path(f"/proc/{process}/status").read_text().splitlines()
    [line] = [line for line in reported if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def _parent(process: int) -> int:
    fields = _stat(Path(f"/proc/{process}"))
    return int(fields[1]) if fields else 0


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _stat(task: Path) -> list[str]:
    """State, parent and so on; nothing of a task that has ended."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
