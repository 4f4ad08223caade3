"""The watch pipeline: what reading, comparing and keeping pages costs.

python -m bench watch
python -m bench.watch pages quality    some parts only
"""

import argparse
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench.page_quality import f1, judge_pages
from bench.pages import folder_of_pages, measure_pages
from bench.table import Row, print_table
from bench.watch_hour import measure_hour
from bench.watch_store import measure_events, measure_versions
from bench.watch_unchanged import measure_unchanged

BEST_OPEN_TOOL = {"price": 0.68, "availability": 0.74}  # F1 that its authors tell of


async def measure(parts: list[str] | None = None) -> list[Row]:
    rows: list[Row] = []
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            rows += await PARTS[part](Path(folder))
    return rows


async def _pages(_: Path) -> list[Row]:
    return measure_pages()


async def _quality(_: Path) -> list[Row]:
    """Prices and availability that are found on real pages; nothing where there are none."""
    folder = folder_of_pages()
    if folder is None:
        return []
    judged = list(judge_pages(folder))
    found = {
        "price": f1([one.price for one in judged]),
        "availability": f1([one.availability for one in judged]),
    }
    return [
        Row(
            measure=f"{what} found on {len(judged)} real pages",
            unit="F1",
            webloom=value,
            peer="best open tool, on such pages",
            peer_value=BEST_OPEN_TOOL[what],
            must=None,
        )
        for what, value in found.items()
    ]


PARTS: dict[str, Callable[[Path], Awaitable[list[Row]]]] = {
    "pages": _pages,
    "quality": _quality,
    "events": measure_events,
    "versions": measure_versions,
    "unchanged": measure_unchanged,
    "hour": measure_hour,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.watch")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parts = parser.parse_args().parts
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    sys.exit(0 if print_table(uvloop.run(measure(parts))) else 1)


if __name__ == "__main__":
    main()
