"""The commands as a user runs them: real processes, a real database, a site on loopback."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.running import SAYS_WHEN_READY
from forks import run_command, start_service
from servers.private import free_port
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.domain.inventory import METADATA, METADATA_QUEUE, Status
from webloom.domain.page import STORAGE_QUEUE
from webloom.entrypoints.cli.output import plain, visible
from webloom.ports.broker import Message
from webloom.settings import load_settings
from webloom_demo.site import Page, Response, Site, demo_pages, serve

Environment = dict[str, str]

HOSTILE = (
    "<title>\x1b[2J\x1b]0;owned\x07[bold red]not markup[/bold red]</title>\n"
    "\u202egnp.exe[link=file:///etc/passwd]click[/link] :skull:\\[x]"
)


@dataclass(frozen=True, kw_only=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


async def webloom(*arguments: str | Path, env: Environment, stdin: bytes = b"") -> Finished:
    ended = await asyncio.to_thread(run_command, *arguments, env=env, stdin=stdin)
    return Finished(code=ended.returncode, out=ended.stdout, err=ended.stderr)


async def start(*arguments: str | Path, env: Environment) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "webloom", *map(str, arguments)),
        env=env,
        cwd=env["HOME"],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )


@contextmanager
def worker(env: Environment) -> Iterator[None]:
    folder = Path(env["HOME"])
    process = start_service("worker", env=env, folder=folder, log=folder / "worker.log")
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def until(met: Callable[[], Awaitable[bool]], *, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not await met():  # noqa: ASYNC110 - another process has no event for us
            await asyncio.sleep(0.05)


def environment(folder: Path, **settings: object) -> Environment:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEBLOOM_")}
    return {
        **kept,
        "HOME": str(folder),
        "WEBLOOM_DATA_DIR": str(folder / "data"),
        "WEBLOOM_PORT": str(free_port()),
        **{f"WEBLOOM_{name.upper()}": str(value) for name, value in settings.items()},
    }


async def counts(env: Environment) -> dict[Status, int]:
    async with open_services(load_settings(env)) as services:
        return await services.records.count_by_status()


def hostile_pages() -> list[Page]:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "X-Markup": "[red]x[/red]",
        "X-Turned": "\u202eabc".encode().decode("latin-1"),
    }
    formula = Response(body=b"1", headers={"Content-Type": '=HYPERLINK("http://x","y")'})
    return [
        Page(path="/hostile", responses=(Response(body=HOSTILE.encode(), headers=headers),)),
        Page(path="/formula", responses=(formula,)),
    ]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve([*demo_pages(), *hostile_pages()]) as serving:
        yield serving


@pytest.fixture
def env(tmp_path: Path, site: Site) -> Environment:
    return environment(tmp_path, allow_addresses=site.address, retry_delay=0.1, lease=2)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a \x1b[31mred", "a \\x1b[31mred"),
        ("\u202eexe.png\u2066", "\\u202eexe.png\\u2066"),
        ("one\ntwo\rthree\tfour\x00", "one\\ntwo\\rthree\\tfour\\x00"),
        ("\x9b31m \udc80 \u200b", "\\x9b31m \\udc80 \\u200b"),
        ("Köper 織物 \N{SNOWMAN}", "Köper 織物 \N{SNOWMAN}"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_plain_text_is_no_markup() -> None:
    assert plain("[bold]x[/bold]\x1b[0m") == "\\[bold]x\\[/bold]\\x1b[0m"


async def test_fetch_shows_redirects_headers_cookies_and_the_source(
    site: Site, env: Environment
) -> None:
    moved = await webloom("fetch", f"http://{site.address}/old/catalogue", env=env)
    assert moved.code == 0, moved.err
    assert moved.out.startswith(f"200 OK  http://{site.address}/shelf/linen\n")
    assert f"301 from http://{site.address}/old/catalogue\n" in moved.out
    assert "text/html; charset=utf-8" in moved.out
    assert "sha256:" in moved.out
    assert "<title>Linen by the metre | Loom &amp; Weft</title>" in moved.out
    basket = await webloom("fetch", f"http://{site.address}/basket", env=env)
    assert "visitor=4711; Path=/; Max-Age=3600" in basket.out
    assert not (Path(env["HOME"]) / "data").exists(), "fetch stores nothing"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/till", "500 Internal Server Error"),
        ("/cloth/sold-out", "410 Gone"),
        ("/swatch.png", "the body is not text"),
        ("/ledger", "; the first 1,000,000 would be kept"),
        ("/history", "Façonné"),
    ],
)
async def test_fetch_shows_any_response(site: Site, env: Environment, path: str, says: str) -> None:
    shown = await webloom("fetch", f"http://{site.address}{path}", env=env)
    assert shown.code == 0, shown.err
    assert says in shown.out


async def test_fetch_shows_what_was_read_of_a_body_that_is_too_large(
    site: Site, env: Environment
) -> None:
    url, small = f"http://{site.address}/ledger", {**env, "WEBLOOM_MAX_BODY": "5000"}
    shown = await webloom("fetch", url, env=small)
    assert shown.code == 0, shown.err
    assert shown.out.startswith("200 OK")
    assert "unknown: only the first 5,000 bytes were read" in shown.out
    assert "the first 5,000 characters" in shown.out
    assert "sha256:" not in shown.out
    [fetched] = (await webloom("fetch", url, "--json", env=small)).objects
    assert fetched["metadata"]["headers"]["content-type"].startswith("text/")
    assert fetched["additional_details"]["content_hash"] is None


async def test_fetch_json_has_the_shape_of_a_record(site: Site, env: Environment) -> None:
    url = f"http://{site.address}/shop"
    [fetched] = (await webloom("fetch", url, "--json", env=env)).objects
    assert fetched["url"] == url
    assert tuple(fetched["metadata"]) == METADATA
    assert fetched["metadata"]["status_code"] == 200
    assert fetched["metadata"]["final_url"] == f"http://{site.address}/"
    assert fetched["additional_details"]["redirect_chain"] == [{"url": url, "status_code": 301}]


async def test_fetch_without_a_response_says_why_and_exits_with_1(
    site: Site, env: Environment
) -> None:
    url = f"http://{site.address}/back-door"
    failed = await webloom("fetch", url, "--json", env=env)
    assert failed.code == 1
    [answer] = failed.objects
    assert answer == {"url": url, "error": answer["error"], "retryable": False}
    assert "10.0.0.1 is a private address" in answer["error"]
    logged, said = failed.err.splitlines()
    assert "refused a connection host=10.0.0.1 address=10.0.0.1" in logged
    assert said == f"webloom: {answer['error']}"
    refused = await webloom("fetch", "http://127.0.0.1:1/", env=env)
    assert (refused.code, refused.out) == (1, "")
    assert "Traceback" not in refused.err


async def test_what_a_page_says_is_shown_as_text(site: Site, env: Environment) -> None:
    shown = await webloom("fetch", f"http://{site.address}/hostile", env=env)
    assert shown.code == 0, shown.err
    assert not set(shown.out) & {"\x1b", "\x07", "\u202e"}
    assert "<title>\\x1b[2J\\x1b]0;owned\\x07[bold red]not markup[/bold red]</title>" in shown.out
    assert "\\u202egnp.exe[link=file:///etc/passwd]click[/link] :skull:\\[x]" in shown.out
    assert "[red]x[/red]" in shown.out
    assert "\\u202eabc" in shown.out


async def test_submit_waits_for_room_until_every_url_is_in(site: Site, env: Environment) -> None:
    env |= {"WEBLOOM_QUEUE_LIMIT": "200", "WEBLOOM_HOST_CONCURRENCY": "32"}
    urls = Path(env["HOME"]) / "urls.txt"
    urls.write_text("".join(f"http://{site.address}/about?n={n}\n" for n in range(1000)))
    with worker(env):
        submitted = await webloom("submit", urls, env=env)
        assert submitted.code == 0, submitted.err
        assert submitted.err.endswith("1,000 accepted, 0 refused\n")

        async def all_final() -> bool:
            return (await counts(env))[Status.COMPLETED] == 1000

        await until(all_final)
    assert sum((await counts(env)).values()) == 1000


async def test_submit_names_the_lines_that_it_refuses(site: Site, env: Environment) -> None:
    mixed = Path(env["HOME"]) / "mixed.txt"
    good = f"http://{site.address}"
    mixed.write_bytes(
        b"\xef\xbb\xbf# a comment behind a byte order mark\n"
        + f"{good}/1\r\n\n  {good}/2  \n".encode()
        + b"no-url\n"
        + f'{{"url": "{good}/3", "status": "COMPLETED"}}\n'.encode()
        + b'{"link": 1}\nhttp://10.0.0.1/\n\xff\xfe\nftp://\x1b[31m/\n'
        + f"{good}/4".encode()
    )
    answered = await webloom("submit", mixed, env=env)
    assert answered.code == 3
    assert answered.err.endswith("4 accepted, 5 refused\n")
    places = [line.split(": ")[0] for line in answered.err.splitlines() if ": refused: " in line]
    assert sorted(places) == [f"{mixed}:{number}" for number in (10, 5, 7, 8, 9)]
    assert "\x1b" not in answered.err
    assert "\\x1b[31m" in answered.err
    assert (await counts(env))[Status.PENDING] == 4


async def test_submit_counts_refused_lines_beyond_the_first_twenty(env: Environment) -> None:
    answered = await webloom("submit", "-", env=env, stdin=b"nothing\n" * 1000)
    assert answered.code == 3
    assert answered.err.count(": refused: ") == 20
    assert "standard input:20: refused" in answered.err
    assert answered.err.endswith("0 accepted, 1,000 refused\n")


async def test_submit_json_answers_each_line(site: Site, env: Environment) -> None:
    url = f"http://{site.address}/"
    answered = await webloom("submit", "-", "--json", env=env, stdin=f"{url}\nbad\n".encode())
    assert answered.code == 3
    bad, good = sorted(answered.objects, key=lambda each: bool(each["accepted"]))
    assert (good["line"], good["url"], len(good["request_id"])) == (1, url, 36)
    assert (bad["line"], bad["url"]) == (2, "bad")
    assert "must begin with http" in bad["error"]


async def test_submit_of_a_file_that_cannot_be_read_submits_nothing(env: Environment) -> None:
    home = Path(env["HOME"])
    (home / "good.txt").write_text("http://192.0.2.1/\n")
    missing = await webloom("submit", "good.txt", "missing.txt", env=env)
    assert missing.code == 1
    assert missing.err == "webloom: can't read missing.txt: file not found\n"
    folder = await webloom("submit", home, env=env)
    assert folder.code == 1
    assert "it is a folder" in folder.err
    assert not (home / "data").exists()


async def test_submit_says_that_no_worker_runs_and_sums_up_when_interrupted(
    site: Site, env: Environment
) -> None:
    process = await start("submit", "-", env=env | {"WEBLOOM_QUEUE_LIMIT": "5"})
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            for number in range(20):  # the pipe stays open: it does not wait for its end
                process.stdin.write(f"http://{site.address}/?n={number}\n".encode())
            await process.stdin.drain()
            said = await process.stderr.readline()
            assert b"no worker is running: start one with `webloom worker`" in said
            process.send_signal(signal.SIGINT)
            assert (await process.stderr.read()).decode() == "5 accepted, 0 refused\n"
            assert await process.wait() == 130
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_submit_waits_while_the_database_is_locked_and_loses_nothing(
    site: Site, env: Environment
) -> None:
    process = await start("submit", "-", env=env)
    assert process.stdin is not None
    assert process.stderr is not None

    async def first_is_in() -> bool:
        return (await counts(env))[Status.PENDING] == 1

    try:
        async with asyncio.timeout(60):
            process.stdin.write(f"http://{site.address}/1\n".encode())
            await until(first_is_in)
            with closing(sqlite3.connect(load_settings(env).database)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                process.stdin.write(f"http://{site.address}/2\n".encode())
                assert b"waiting for the database: " in await process.stderr.readline()
            process.stdin.close()
            assert (await process.stderr.read()).endswith(b"2 accepted, 0 refused\n")
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (await counts(env))[Status.PENDING] == 2


async def fetched(site: Site, env: Environment, *paths: str) -> None:
    urls = "".join(f"http://{site.address}{path}\n" for path in paths)
    submitted = await webloom("submit", "-", env=env, stdin=urls.encode())
    assert submitted.code == 0, submitted.err

    async def all_final() -> bool:
        found = await counts(env)
        return sum(found[status] for status in Status if status.is_final) == len(paths)

    with worker(env):
        await until(all_final)


async def test_export_writes_what_was_fetched(site: Site, env: Environment) -> None:
    await fetched(site, env, "/about", "/formula", "/cloth/sold-out")
    exported = await webloom("export", "--source", env=env)
    assert exported.code == 0, exported.err
    records = {each["url"].rpartition("/")[2]: each for each in exported.objects}
    assert records.keys() == {"about", "formula", "sold-out"}
    assert "<h1>About us</h1>" in records["about"]["metadata"]["page_source"]
    assert records["sold-out"]["status"] == "FAILED_PERMANENT"
    without = await webloom("export", "--status", "COMPLETED", "--text", "about", env=env)
    assert [each["metadata"]["page_source"] for each in without.objects] == [None]
    assert (await webloom("export", "--from", "2999-01-01", env=env)).out == ""
    assert (await webloom("export", "--to", "2999-01-01T00:00+02:00", env=env)).out.count("\n") == 3


async def test_csv_has_no_cell_that_a_spreadsheet_would_run(site: Site, env: Environment) -> None:
    await fetched(site, env, "/formula")
    target = Path(env["HOME"]) / "records.csv"
    exported = await webloom("export", "--format", "csv", "--output", target, env=env)
    assert exported.code == 0, exported.err
    [row] = csv.DictReader(io.StringIO(target.read_text(), newline=""))
    assert list(row)[:4] == ["url", "status", "status_code", "final_url"]
    assert row["url"] == f"http://{site.address}/formula"
    assert row["content_type"] == '\'=HYPERLINK("http://x","y")'
    assert (row["status"], row["status_code"], row["content_length"]) == ("COMPLETED", "200", "1")
    assert [each.name for each in target.parent.iterdir() if each.suffix == ".part"] == []


async def test_a_page_that_is_too_large_is_exported_without_length_and_hash(
    site: Site, env: Environment
) -> None:
    await fetched(site, {**env, "WEBLOOM_MAX_BODY": "5000"}, "/ledger")
    exported = await webloom("export", "--format", "csv", env=env)
    [row] = csv.DictReader(io.StringIO(exported.out, newline=""))
    assert (row["status"], row["status_code"]) == ("COMPLETED", "200")
    assert (row["content_length"], row["content_hash"]) == ("", "")
    [record] = (await webloom("export", "--source", env=env)).objects
    assert len(record["metadata"]["page_source"]) == 5000
    assert record["additional_details"]["body_truncated_at"] == 5000


async def test_export_says_what_is_wrong_with_a_date(env: Environment) -> None:
    refused = await webloom("export", "--from", "yesterday", env=env)
    assert refused.code == 1
    assert "--from: got 'yesterday', wants a date such as 2026-01-31" in refused.err


async def ends_quietly_after_one_line(process: Process) -> None:
    """Its reader has seen enough by then."""
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            assert await process.stdout.readline()
            process.stdout._transport.close()  # type: ignore[attr-defined]
            assert await process.stderr.read() == b""
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_reader_who_has_seen_enough_ends_an_export_quietly(
    site: Site, env: Environment
) -> None:
    urls = "".join(f"http://{site.address}/?n={n}\n" for n in range(900))
    assert (await webloom("submit", "-", env=env, stdin=urls.encode())).code == 0
    await ends_quietly_after_one_line(await start("export", env=env))


async def dead_letter(env: Environment, *bodies: bytes) -> None:
    async with open_services(load_settings(env)) as services:
        for number, body in enumerate(bodies):
            await services.broker.publish(METADATA_QUEUE, Message(id=f"m{number}", body=body))
        async with services.broker.deliveries(METADATA_QUEUE, len(bodies)) as deliveries:
            for _ in bodies:
                await (await anext(deliveries)).dead_letter("not a \x1b[31m[bold]request")


async def test_dead_letters_can_be_seen_put_back_and_discarded(env: Environment) -> None:
    await dead_letter(env, b"\x1b[2J[red]zero", b"one", b"two")
    shown = await webloom("dead", "list", env=env)
    assert shown.code == 0, shown.err
    assert "not a \\x1b[31m[bold]request" in shown.out
    assert "\\x1b[2J[red]zero" in shown.out
    assert "\x1b" not in shown.out
    listed = (await webloom("dead", "list", "--json", env=env)).objects
    assert [(each["id"], each["body"]) for each in listed] == [
        ("m0", "\x1b[2J[red]zero"), ("m1", "one"), ("m2", "two"),
    ]  # fmt: skip
    of_another = await webloom("dead", "list", "--queue", STORAGE_QUEUE, env=env)
    assert of_another.out.strip() == f"no dead letters in {STORAGE_QUEUE}"
    async with open_services(load_settings(env)) as services:
        await services.broker.publish(STORAGE_QUEUE, Message(id="s", body=b"an event"))
        async with services.broker.deliveries(STORAGE_QUEUE, 1) as deliveries:
            await (await anext(deliveries)).dead_letter("not an event")
    assert "not an event" in (await webloom("dead", "list", env=env)).out
    both = (await webloom("dead", "list", "--limit", "1", "--json", env=env)).objects
    assert [(each["queue"], each["id"]) for each in both] == [
        (METADATA_QUEUE, "m0"), (STORAGE_QUEUE, "s"),
    ]  # fmt: skip
    assert (await webloom("dead", "put-back", "m1", env=env)).out.startswith("1 put back")
    missing = await webloom("dead", "discard", "--yes", "m1", "m2", env=env)
    assert missing.code == 1
    assert "dead letters not found: m1 (1 others are done)" in missing.err
    kept = await webloom("dead", "discard", "--all", env=env, stdin=b"n\n")
    assert kept.code == 1
    gone = await webloom("dead", "discard", "--all", env=env, stdin=b"y\n")
    assert (gone.code, gone.out.strip()) == (0, "1 discarded")
    neither = await webloom("dead", "put-back", env=env)
    assert neither.code == 2
    async with open_services(load_settings(env)) as services:
        depth = await services.broker.depth(METADATA_QUEUE)
    assert (depth.ready, depth.dead) == (1, 0)


@pytest.mark.parametrize("service", SAYS_WHEN_READY)
async def test_a_service_starts_as_a_program_and_ends_on_sigterm(
    service: str, tmp_path: Path
) -> None:
    """The other tests fork a process that has imported everything."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "webloom", service,
        env=environment(tmp_path), cwd=tmp_path, stdout=PIPE, stderr=STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await process.stdout.readuntil(SAYS_WHEN_READY[service].encode())
            process.send_signal(signal.SIGTERM)
            assert b"Traceback" not in await process.stdout.read()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
