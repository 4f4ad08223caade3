"""What reading a page costs: CPU time of `read_page`, in this process, page by page.

    python -m bench.pages --pages DIR

DIR holds pages as NAME.html.gz, and truth.json that maps each NAME to an object with its `url`.
"""

import argparse
import gzip
import json
import re
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from webloom.domain.page import Selection
from webloom.parsing.pages.reading import read_page

ROUNDS = 5  # the best of them counts: the others were disturbed
LARGE = (400_000, 900_000)  # bytes
SMALL = 50_000


@dataclass(frozen=True, kw_only=True)
class Page:
    url: str
    body: bytes


def load_pages(folder: Path) -> list[Page]:
    truth = json.loads((folder / "truth.json").read_text())
    return [
        Page(url=known["url"], body=gzip.decompress((folder / f"{name}.html.gz").read_bytes()))
        for name, known in sorted(truth.items())
    ]


def trimmed(page: Page, size: int) -> Page:
    """The page without scripts and styles that say nothing of it, cut to the size."""
    body = re.sub(rb"(?is)<style\b.*?</style>|<svg\b.*?</svg>", b"", page.body)
    body = re.sub(rb"(?is)<script\b(?![^>]*ld\+json).*?</script>", b"", body)
    return Page(url=page.url, body=body[:size])


def cpu_milliseconds(page: Page) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        read_page(
            page.body,
            url=page.url,
            status_code=200,
            content_type="text/html",
            selection=Selection(),
        )
        best = min(best, time.process_time() - started)
    return best * 1000


def row(name: str, pages: list[Page]) -> str:
    if not pages:
        return f"{name:<34} | no such page"
    figures = sorted(cpu_milliseconds(page) for page in pages)
    kilobytes = statistics.mean(len(page.body) for page in pages) / 1000
    return (
        f"{name:<34} | {len(pages):>5} | {kilobytes:>7.0f} | {statistics.mean(figures):>6.1f}"
        f" | {statistics.median(figures):>6.1f} | {figures[-1]:>6.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, required=True)
    pages = load_pages(parser.parse_args().pages)
    large = [page for page in pages if LARGE[0] <= len(page.body) <= LARGE[1]]
    cut = [trimmed(page, SMALL) for page in pages]
    small = [page for page in cut if len(page.body) == SMALL]
    print(f"{'CPU per page':<34} | pages | mean KB | mean ms | median | worst")
    print(row("read_page, real pages 400-900 KB", large))
    print(row("read_page, real pages cut to 50 KB", small))
    print(row("read_page, all real pages", pages))


if __name__ == "__main__":
    main()
