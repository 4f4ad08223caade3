"""The CPU that a command takes before it does anything."""

import resource
import statistics
import subprocess

from bench.processes import PYTHON
from bench.table import Row

ROUNDS = 5
HELP = ["-m", "webloom", "--help"]
PEERS = {"python -c pass": ["-c", "pass"], "pip --version": ["-m", "pip", "--version"]}
LIMIT = 0.25  # seconds


async def measure() -> list[Row]:
    commands = {"webloom": HELP, **PEERS}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):  # in turns, so that all have the same neighbours
        for name, arguments in commands.items():
            taken[name].append(_cpu_seconds(arguments))
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    limits = {"the limit": LIMIT} | {name: medians[name] for name in PEERS}
    return [
        Row(
            measure="CPU of webloom --help",
            unit="s",
            webloom=medians["webloom"],
            peer=peer,
            peer_value=seconds,
            must=1.0 if peer == "the limit" else None,
            lower_is_better=True,
        )
        for peer, seconds in limits.items()
    ]


def _cpu_seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PYTHON, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
