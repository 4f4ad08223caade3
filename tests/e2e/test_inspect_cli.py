"""`webloom inspect` as a user runs it: files, standard input, a site on loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.test_cli import Environment, environment, start, webloom
from proc import children_of, is_there
from webloom.entrypoints.cli.inspect_pages_files import named_url
from webloom_demo.site import Page, Response, Site, serve

CHAIR = b"""<!doctype html><html lang="en"><head><title>Chair</title>
<link rel="canonical" href="https://shop.example/chair?a=1&amp;b=2">
<link rel="alternate" type="application/atom+xml" href="/news.atom">
<meta name="description" content="A good chair">
<script type="application/ld+json">{"@type": "Product", "name": "Chair", "offers": {"@type":
"Offer", "price": "1299.90", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}}
</script></head><body><nav><a href="/all">All</a></nav><main><h1>Chair</h1>
<p>A chair of ash wood with a woven seat, made to be sat on for a very long time.</p>
<p class="views">Seen 17 times today, and that is all there is to say about it.</p>
<img src="chair.jpg"></main></body></html>"""
KEYS = [
    "input",
    "url",
    "status",
    "title",
    "text",
    "images",
    "links",
    "metadata",
    "classification",
    "price",
    "availability",
    "snapshotHash",
    "needsJavascript",
]
HOSTILE = (
    "<title>&#x1b;[2J[bold red]not markup[/]</title><main><p>&#x1b;]0;owned&#7; \u202egnp.exe"
    " and more words, so that there is a text</p></main>"
).encode()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    pages = [
        Page(path="/chair", responses=(Response(body=CHAIR),)),
        Page(path="/old", responses=(Response(status=302, headers={"Location": "/chair"}),)),
        Page(path="/gone", responses=(Response(status=404, body=b"<h1>Not found</h1>"),)),
    ]
    async with serve(pages) as serving:
        yield serving


@pytest.fixture
def env(tmp_path: Path, site: Site) -> Environment:
    return environment(tmp_path, allow_addresses=site.address)


@pytest.fixture
def chair(tmp_path: Path) -> Path:
    path = tmp_path / "chair.html"
    path.write_bytes(CHAIR)
    return path


async def test_a_file_is_printed_as_json(env: Environment, chair: Path) -> None:
    done = await webloom("inspect", chair, "--json", env=env)
    assert (done.code, done.err) == (0, "")
    [seen] = done.objects
    assert list(seen) == KEYS
    assert (seen["input"], seen["status"]) == (str(chair), None)
    assert seen["url"] == "https://shop.example/chair?a=1&b=2"
    assert seen["title"] == "Chair"
    assert "woven seat" in seen["text"]
    assert seen["images"] == ["https://shop.example/chair.jpg"]
    assert seen["links"] == ["https://shop.example/all"]
    assert seen["metadata"]["description"] == "A good chair"
    assert seen["metadata"]["feeds"] == ["https://shop.example/news.atom"]
    assert seen["classification"]["type"] == "product"
    assert 0 < seen["classification"]["confidence"] <= 1
    assert seen["classification"]["reasons"]
    assert seen["availability"] == "in_stock"
    assert '"price":{"current":1299.90,"list":null,"currency":"EUR","source":"json-ld"}' in done.out
    assert not (chair.parent / "data").exists()


async def test_a_file_is_shown_to_a_person(env: Environment, chair: Path) -> None:
    done = await webloom("inspect", chair, env=env)
    assert (done.code, done.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in done.out.splitlines() if "  " in line)
    assert done.out.startswith("Chair\nhttps://shop.example/chair?a=1&b=2\n")
    assert facts["type"].startswith("product, ")
    assert facts["price"] == "1,299.90 EUR (json-ld)"
    assert facts["availability"] == "in stock"
    assert facts["structured"] == "Product"
    assert facts["has"] == "1 image, 1 link"
    assert "woven seat" in done.out


async def test_a_page_that_needs_javascript_says_so(env: Environment) -> None:
    page = b"<title>App</title><div id=root></div><script src=/app.js></script>"
    done = await webloom("inspect", "-", env=env, stdin=page)
    facts = dict(line.split(maxsplit=1) for line in done.out.splitlines() if "  " in line)
    assert facts["type"] == "unknown"
    assert facts["javascript"].startswith("The text of this page appears only with JavaScript")


async def test_the_base_url_and_a_selection_can_be_given(env: Environment, chair: Path) -> None:
    base = ("--base-url", "https://other.example/a/b")
    chosen = await webloom(
        "inspect", chair, "--json", *base, "--keep", "main", "--drop", "h1", "--ignore", "SEEN",
        env=env,
    )  # fmt: skip
    [seen] = chosen.objects
    assert seen["url"] == "https://other.example/a/b"
    assert seen["text"] == (
        "A chair of ash wood with a woven seat, made to be sat on for a very long time."
    )
    assert seen["images"] == ["https://other.example/a/chair.jpg"]
    by_pattern = await webloom(
        "inspect", "-", "--json", "--keep", ".views", "--ignore-pattern", r"\d+ times",
        env=env, stdin=CHAIR,
    )  # fmt: skip
    [seen] = by_pattern.objects
    assert (seen["input"], seen["text"]) == ("-", "")


async def test_a_url_is_fetched_through_the_gate(env: Environment, site: Site) -> None:
    old, gone = f"http://{site.address}/old", f"http://{site.address}/gone"
    done = await webloom("inspect", old, gone, "--json", env=env)
    assert done.code == 0, done.err
    chair, missing = done.objects
    assert (chair["input"], chair["url"]) == (old, f"http://{site.address}/chair")
    assert (chair["status"], chair["title"]) == (200, "Chair")
    assert (missing["status"], missing["classification"]["type"]) == (404, "error")
    assert missing["text"] == "Not found", "what is served instead of the page is shown too"

    refused = await webloom("inspect", old, "--json", env={**env, "WEBLOOM_ALLOW_ADDRESSES": ""})
    assert refused.code == 1
    [reported] = refused.objects
    assert list(reported) == ["input", "error"]
    assert reported["error"] in refused.err


async def test_many_inputs_come_in_order_and_go_on_after_an_error(
    env: Environment, tmp_path: Path, site: Site
) -> None:
    sources = []
    for number in range(12):
        packed = tmp_path / f"{number}.html.gz"
        packed.write_bytes(gzip.compress(CHAIR.replace(b"Chair", b"Chair %d" % number)))
        sources.append(str(packed))
    (tmp_path / "0.html.gz").write_bytes(gzip.compress(CHAIR)[:-20])
    (tmp_path / "1.html.gz").write_bytes(gzip.compress(bytes(11_000_000)))
    sources.insert(2, str(tmp_path / "missing"))
    sources.insert(3, str(tmp_path))
    sources.insert(4, "ftp://shop.example/")
    (tmp_path / "large").write_bytes(bytes(11_000_000))
    sources.append(str(tmp_path / "large"))
    done = await webloom("inspect", *sources, "--json", env=env)
    assert done.code == 1
    assert [each["input"] for each in done.objects] == sources
    errors = {each["input"]: each["error"] for each in done.objects if "error" in each}
    for source, said in zip(
        (*sources[:5], sources[-1]),
        ("damaged", "larger than", "file not found", "directory", "http://", "larger than"),
        strict=True,
    ):
        assert said in errors.pop(source)
    assert not errors
    titles = [each["title"] for each in done.objects if "title" in each]
    assert titles == [f"Chair {number}" for number in range(2, 12)]
    assert len(done.err.splitlines()) == 6


async def test_standard_input_and_pipes_are_read(env: Environment, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    inspecting = asyncio.create_task(
        webloom("inspect", "-", pipe, "--json", env=env, stdin=gzip.compress(CHAIR))
    )
    await asyncio.to_thread(pipe.write_bytes, CHAIR)
    done = await inspecting
    assert done.code == 0, done.err
    assert [each["title"] for each in done.objects] == ["Chair", "Chair"]


async def test_nothing_of_a_page_reaches_the_terminal_as_a_command(
    env: Environment, tmp_path: Path
) -> None:
    (tmp_path / "page").write_bytes(HOSTILE)
    (tmp_path / "\x1b[2J").write_bytes(b"")
    done = await webloom("inspect", tmp_path / "page", tmp_path / "\x1b[2J", env=env)
    for said in (done.out, done.err):
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
    assert "[bold red]not markup[/]" in done.out
    assert "gnp.exe" in done.out


async def test_wrong_usage_is_reported(env: Environment) -> None:
    all_done = await asyncio.gather(
        *(
            webloom("inspect", *arguments, env=env)
            for arguments in (
                [],
                ["-", "-"],
                ["-", "--base-url", "nonsense"],
                ["-", "--keep", "p["],
                ["-", "--drop", "//p["],
                ["-", "--ignore-pattern", "("],
            )
        )
    )
    for done in all_done:
        assert (done.code, done.out) == (2, "")
        assert "Traceback" not in done.err


async def test_an_interrupt_ends_it_and_its_readers(env: Environment, tmp_path: Path) -> None:
    pages = [tmp_path / f"{number}.html" for number in range(1000)]
    for page in pages:
        page.write_bytes(CHAIR)
    process = await start("inspect", *pages, "--json", env=env)
    assert process.stdout is not None
    await process.stdout.readline()
    readers = children_of(process.pid, running=b"page_process")
    assert 1 <= len(readers) <= 2
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")
    assert not any(map(is_there, readers))


@pytest.mark.parametrize(
    ("page", "url"),
    [
        ("<link rel=canonical href=https://a.example/1>", "https://a.example/1"),
        ("<LINK HREF='https://a.example/2' data-x REL='canonical'/>", "https://a.example/2"),
        ("<link rel=alternate href=/3><link rel=canonical href=/4>", None),
        ("<link rel=alternate href=https://a.example/5><p rel=canonical>", None),
        ("<p>", None),
        ("<link " * 100_000, None),
    ],
)
def test_the_canonical_link_of_a_saved_page_is_its_address(
    page: str, url: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "page"
    path.write_text(page)
    assert named_url(path) == url
