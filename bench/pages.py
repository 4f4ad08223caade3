"""What reading a page and comparing it with its last version costs: CPU time in this process, with
garbage collected as seldom as in the process that reads pages.

BENCH_PAGES names a folder of real pages: NAME.html.gz, and truth.json that maps each NAME to an
object with its `url`. Without one, pages are made.
"""

import gc
import gzip
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import msgspec

from bench.page_quality import PAGES
from bench.peers.changedetection import load_metadata_path
from bench.table import Row
from webloom.adapters.sandbox.child import OBJECTS_BETWEEN_COLLECTIONS as SELDOM
from webloom.diffs.pages import diff_pages
from webloom.domain.page import Selection
from webloom.parsing.pages.page import PageReading, ParsedPage
from webloom.parsing.pages.reading import read_page
from webloom.parsing.text_decoding import decode_body

ROUNDS = 5
LARGE = (400_000, 900_000)  # bytes
SMALL = 50_000
SMALL_MILLISECONDS = 5.0  # the limit
CHANGED_EVERY = 100  # of the lines of the last version, one of so many differs
MADE_PAGES = 12
MADE_BYTES = 600_000


@dataclass(frozen=True, kw_only=True)
class Page:
    url: str
    body: bytes


def folder_of_pages() -> Path | None:
    """None: there are no real pages here."""
    folder = Path(os.environ.get("BENCH_PAGES", PAGES))
    return folder if folder.is_dir() else None


def measure_pages() -> list[Row]:
    folder = folder_of_pages()
    kind, pages = ("made", made_pages()) if folder is None else ("real", load_pages(folder))
    large = [page for page in pages if LARGE[0] <= len(page.body) <= LARGE[1]]
    cut = [trimmed(page, SMALL) for page in pages]
    small = [page for page in cut if len(page.body) == SMALL]
    with _as_in_the_child():
        ours, theirs = _in_turns(large)
        of_small, _ = _in_turns(small)
    kilobytes = mean(len(page.body) for page in large) / 1000
    return [
        Row(
            measure=f"CPU of a check, {len(large)} {kind} pages of {kilobytes:.0f} KB",
            unit="ms",
            webloom=ours,
            peer="changedetection.io, metadata alone",
            peer_value=theirs,
            must=1 / 5,
            lower_is_better=True,
        ),
        Row(
            measure=f"the same, {len(small)} {kind} pages of {SMALL // 1000} KB",
            unit="ms",
            webloom=of_small,
            peer="the limit",
            peer_value=SMALL_MILLISECONDS,
            must=1.0,
            lower_is_better=True,
        ),
    ]


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


@contextmanager
def _as_in_the_child() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(SELDOM)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)


def _in_turns(pages: Sequence[Page]) -> tuple[float, float]:
    """Milliseconds of a page, of ours and of the peer; the mean of each page's median.

    Either reads all pages one after the other, as it would alone, and then it is the other's turn:
    neither pays for the garbage that the other leaves.
    """
    read_metadata = load_metadata_path()
    ours = [partial(_check, page, last_version(_read(page).parsed)) for page in pages]
    theirs = [partial(read_metadata, decode_body(page.body, "text/html") or "") for page in pages]
    rounds = [(_each(ours), _each(theirs)) for _ in range(ROUNDS)]
    return _mean_of_medians([one for one, _ in rounds]), _mean_of_medians(
        [two for _, two in rounds]
    )


def _each(work: Sequence[Callable[[], Any]]) -> list[float]:
    gc.collect()
    return [_milliseconds(one) for one in work]


def _mean_of_medians(rounds: Sequence[list[float]]) -> float:
    medians: list[float] = [median(of_page) for of_page in zip(*rounds, strict=True)]
    return mean(medians)


def _read(page: Page) -> PageReading:
    return read_page(
        page.body, url=page.url, status_code=200, content_type="text/html", selection=Selection()
    )


def _check(page: Page, last: ParsedPage) -> None:
    diff_pages(last, _read(page).parsed)


def _milliseconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def last_version(parsed: ParsedPage) -> ParsedPage:
    lines = parsed.text.split("\n")
    for index in range(0, len(lines), CHANGED_EVERY):
        lines[index] += " until Sunday"
    return msgspec.structs.replace(parsed, text="\n".join(lines))


_WORDS = (
    "light steel oak lamp table shelf garden blue green large small set of two four with without "
    "handle cover battery charger cable wall floor outdoor indoor classic new series model"
)


def made_pages() -> list[Page]:
    """As dense as shops' pages are: 3,500 elements, 900 of them links; most bytes are scripts."""
    return [_made_page(number) for number in range(MADE_PAGES)]


def _made_page(number: int) -> Page:
    choose = random.Random(number)
    known = _WORDS.split()

    def words(count: int) -> str:
        return " ".join(choose.choices(known, k=count))

    def card(index: int) -> str:
        return (
            f'<li class="product-card grid-item" data-id="{index}"><div class="card-inner">'
            f'<a class="card-link" href="/p/{index}-{choose.randrange(10**6)}?from=list">'
            f'<img loading="lazy" src="/media/{index}.jpg" srcset="/media/{index}.jpg 1x, '
            f'/media/{index}@2.jpg 2x" alt="{words(4)}"></a><h3><a href="/p/{index}">{words(5)}'
            f'</a></h3><span class="price"><s class="old">{choose.randrange(20, 900)},90 €</s> '
            f"<b>{choose.randrange(20, 900)},50 €</b></span></div></li>"
        )

    name, price = words(4).title(), f"{choose.randrange(20, 900)}.99"
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
    product = {"@context": "https://schema.org", "@type": "Product", "name": name, "offers": offer}
    menu = "".join(
        f'<li class="menu-item"><a href="/c/{index}">{words(2)}</a></li>' for index in range(400)
    )
    head = (
        f"<!doctype html><html lang=en><head><title>{name} | The Shop</title>"
        f'<meta property="og:title" content="{name}"><link rel="canonical" href="/p/{number}">'
        f'<script type="application/ld+json">{json.dumps(product)}</script></head>'
    )
    body = (
        f'<body><header><nav><ul>{menu}</ul></nav></header><main><h1>{name}</h1><div class="buy">'
        f'<span class="price">€ {price}</span><button class="add-to-cart">Add to cart</button>'
        f"</div>{''.join(f'<p>{words(60)}</p>' for _ in range(40))}<section class=related><ul>"
        f"{''.join(map(card, range(240)))}</ul></section></main><footer><p>{words(80)}</p></footer>"
    )
    state = json.dumps({f"key{index}": words(6) for index in range(12_000)})
    left = MADE_BYTES - len((head + body).encode()) - 50
    script = f"<script>window.state = {state[:left]}</script></body></html>"
    return Page(url=f"https://shop.example.com/p/{number}", body=(head + body + script).encode())
