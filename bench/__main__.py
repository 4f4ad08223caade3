"""Measure everything and print one table: `make bench`, or `python -m bench NAME ...`.

`python -m bench compare CHECKOUT` compares the CPU of two versions instead.
"""

import argparse
import sys
import time

import uvloop

from bench import (
    admin_ui,
    api,
    attacks,
    command_line,
    compare,
    imports,
    inbox,
    inventory,
    outage,
    scale,
    search,
    stack,
    watch,
)
from bench.table import Row, print_table

BENCHES = {
    "cli": command_line.measure,
    "inventory": inventory.measure,
    "api": api.measure,
    "scale": scale.measure,
    "search": search.measure,
    "memory": inventory.measure_memory,
    "stack": stack.measure,
    "outage": outage.measure,
    "attacks": attacks.measure,
    "imports": imports.measure,
    "watch": watch.measure,
    "inbox": inbox.measure,
    "ui": admin_ui.measure,
}


async def _measure(names: list[str]) -> list[Row]:
    rows = []
    for name in names:
        started = time.monotonic()
        print(f"{name} ...", end=" ", flush=True, file=sys.stderr)
        rows += await BENCHES[name]()
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    return rows


def main() -> None:
    if sys.argv[1:2] == ["compare"]:
        compare.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(BENCHES), help=", ".join(BENCHES))
    names = parser.parse_args().names
    if unknown := set(names) - set(BENCHES):
        parser.error(f"no bench is called {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    sys.exit(0 if print_table(uvloop.run(_measure(names))) else 1)


main()
