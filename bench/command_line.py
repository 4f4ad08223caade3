"""The CPU that a command takes before it does anything."""

import resource
import statistics
import subprocess

from bench.processes import PYTHON
from bench.table import Row

ROUNDS = 5
HELP = {
    "webloom --help": ["-m", "webloom", "--help"],
    "webloom watch --help": ["-m", "webloom", "watch", "--help"],
}
PEERS = {"python -c pass": ["-c", "pass"], "pip --version": ["-m", "pip", "--version"]}
LIMITS = {"webloom --help": 0.25, "webloom watch --help": 0.6}  # seconds


async def measure() -> list[Row]:
    commands = {**HELP, **PEERS}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):  # in turns, so that all have the same neighbours
        for name, arguments in commands.items():
            taken[name].append(_cpu_seconds(arguments))
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    return [
        Row(
            measure=f"CPU of {name}",
            unit="s",
            webloom=medians[name],
            peer=peer,
            peer_value=seconds,
            must=1.0 if peer == "the limit" else None,
            lower_is_better=True,
        )
        for name in HELP
        for peer, seconds in (
            {"the limit": LIMITS[name]} | {it: medians[it] for it in PEERS}
        ).items()
    ]


def _cpu_seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PYTHON, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
