"""`webloom import`, `feed` and `feeds` as a user runs them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from e2e.test_cli import Environment, ends_quietly_after_one_line, environment, start, webloom
from webloom.bootstrap.connections import open_services
from webloom.domain.import_run import ImportRun, RunStatus
from webloom.domain.politeness import slots_of_one_host
from webloom.entrypoints.cli.import_feeds import AT_ONCE
from webloom.ports.import_runs import RunFilter
from webloom.settings import load_settings
from webloom_demo.feeds import demo_feeds
from webloom_demo.site import Page, Response, Site, serve

COUNTERS = ("newJobs", "updatedJobs", "unchangedJobs", "duplicateJobs", "failedJobs")
XML = {"Content-Type": "application/rss+xml"}
HOSTILE = b"""<rss version="2.0"><channel><title>x</title>
<item><title>Fine</title><link>https://a.example/1</link></item>
<item><description>no title \xc2\x9b31m &lt;b&gt;[red]not markup[/red]</description></item>
</channel></rss>"""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    pages = [feed.page for feed in demo_feeds()]
    pages.append(Page(path="/hostile.rss", responses=(Response(body=HOSTILE, headers=XML),)))
    async with serve(pages) as serving:
        yield serving


@pytest.fixture
def env(tmp_path: Path, site: Site) -> Environment:
    return environment(tmp_path, allow_addresses=site.address, retry_delay=0.1)


def url(site: Site, path: str) -> str:
    return f"http://{site.address}{path}"


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def counters(log: dict[str, Any]) -> tuple[int, ...]:
    return tuple(log[name] for name in COUNTERS)


async def runs(env: Environment) -> list[ImportRun]:
    async with open_services(load_settings(env)) as services:
        return (await services.imports.listed_runs.page(RunFilter(), offset=0, limit=100)).runs


async def test_import_adds_a_url_and_counts_what_changes_from_run_to_run(
    site: Site, env: Environment
) -> None:
    loom = url(site, "/jobs/loom.rss")
    first = await webloom("import", loom, "--json", env=env)
    assert first.code == 0, first.err
    assert f"{loom} is now a feed, without a schedule" in first.err
    [log] = first.objects
    assert (log["sourceUrl"], log["status"], log["totalFetched"]) == (loom, "completed", 40)
    assert counters(log) == (40, 0, 0, 0, 0)

    closing = await webloom("feeds", "edit", loom, "--close-missing", env=env)
    assert closing.code == 0, closing.err
    second = await webloom("import", loom, env=env)
    assert second.code == 0, second.err
    assert "is now a feed" not in second.err
    heading, row = [line.split() for line in second.out.splitlines()]
    shown = dict(zip(heading, row, strict=True))
    assert shown.pop("seconds")
    assert shown == {
        "feed": loom, "status": "completed", "total": "40", "new": "2", "updated": "3",
        "unchanged": "35", "duplicate": "0", "failed": "0", "closed": "2", "repaired": "0",
    }  # fmt: skip
    spool = Path(env["HOME"]) / "data" / "spool"
    assert names(spool) == ["known"], (
        "what was fetched is gone, what the next run is spared by stays"
    )


async def test_import_of_several_feeds_reports_each_and_exits_by_the_worst(
    site: Site, env: Environment
) -> None:
    partial = await webloom("import", url(site, "/hostile.rss"), env=env)
    assert partial.code == 3, partial.err
    assert "title" in partial.out
    assert "\\x9b31m" in partial.out
    assert "[red]not markup[/red]" in partial.out

    paths = ("/jobs/indeed.xml", "/jobs/market.rss", "/jobs/")
    several = await webloom("import", *(url(site, each) for each in paths), "--json", env=env)
    assert several.code == 1, several.err
    logs = {log["sourceUrl"]: log for log in several.objects}
    indeed, market, page = (logs[url(site, each)] for each in paths)
    assert (indeed["status"], counters(indeed)) == ("partial", (60, 0, 0, 4, 3))
    assert (market["status"], market["newJobs"]) == ("completed", 30)
    assert market["repaired"] > 0
    assert (page["status"], page["totalFetched"]) == ("failed", 0)
    for log in logs.values():
        assert log["totalFetched"] == sum(counters(log))


async def test_import_without_a_name_takes_the_feeds_that_are_not_paused(
    site: Site, env: Environment
) -> None:
    nothing = await webloom("import", env=env)
    assert nothing.code == 1
    assert "no feeds yet" in nothing.err
    assert "`webloom import URL` imports one now" in nothing.err
    assert names(Path(env["HOME"])) == [], "nothing to import makes no database"
    guild, market = url(site, "/jobs/guild.atom"), url(site, "/jobs/market.rss")
    async with open_services(load_settings(env)) as services:
        await services.manage_feeds.add(guild, "Guild")
        await services.manage_feeds.add(market, enabled=False)
    enabled = await webloom("import", "--json", env=env)
    assert [log["sourceName"] for log in enabled.objects] == ["Guild"]
    every = await webloom("import", "--all", "--json", env=env)
    assert every.code == 0, every.err
    logs = {log["sourceUrl"]: log for log in every.objects}
    assert logs.keys() == {guild, market}
    assert (logs[guild]["status"], logs[guild]["totalFetched"]) == ("completed", 0)  # unmodified
    unknown = await webloom("import", "Gild", env=env)
    assert unknown.code == 1
    assert "unknown feed Gild: `webloom feeds list` shows" in unknown.err


async def test_import_follows_a_run_of_another_process_and_takes_it_up_when_that_one_is_gone(
    site: Site, env: Environment
) -> None:
    loom = url(site, "/jobs/loom.rss")
    async with open_services(load_settings(env)) as services:
        feed, _ = await services.manage_feeds.add(loom, "Loom")
        started = await services.start_import(feed.feed_id, "manual", owner="other", lease=600.0)
        assert started is not None
        process = await start("import", loom, "--json", env=env)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(60):
                await said(process.stderr, b"another process is importing it already")
                claim = await services.imports.runs.claim(
                    "other", lease=600.0, run_id=started.run.run_id
                )
                assert claim is not None
                await services.imports.runs.give_up(claim)
                await said(process.stderr, b"resuming an unfinished run")
                answer = await process.stdout.read()
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
    assert started.run.run_id.encode() in answer
    [run] = await runs(env)
    assert (run.status, run.counts.new) == (RunStatus.COMPLETED, 40)


async def test_a_feed_that_is_removed_while_it_waits_is_left_out_and_the_others_are_imported(
    site: Site, env: Environment
) -> None:
    names = ["/jobs/loom.rss", "/jobs/guild.atom", "/jobs/market.rss", "/jobs/indeed.xml"]
    paths = names[: slots_of_one_host(AT_ONCE)]
    async with open_services(load_settings(env)) as services:
        held = []
        for path in paths:
            feed, _ = await services.manage_feeds.add(url(site, path))
            held.append(await services.start_import(feed.feed_id, "manual", owner=path, lease=600))
        last, _ = await services.manage_feeds.add(url(site, "/jobs/all.xml"), "Waits")
        urls = [url(site, path) for path in paths]
        process = await start("import", *urls, "Waits", "--json", env=env)
        assert process.stderr is not None
        try:
            async with asyncio.timeout(60):
                for _ in held:
                    await said(process.stderr, b"another process is importing it already")
                assert await services.imports.feeds.remove(last.feed_id)
                for path, started in zip(paths, held, strict=True):
                    assert started is not None
                    claim = await services.imports.runs.claim(
                        path, lease=600.0, run_id=started.run.run_id
                    )
                    assert claim is not None
                    await services.imports.runs.give_up(claim)
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
    assert process.returncode == 1
    assert b"Waits: was removed meanwhile, and is left out" in err
    assert len(out.splitlines()) == len(paths)


async def test_80_columns_have_room_for_the_bar_the_runs_and_the_feeds(
    site: Site, env: Environment
) -> None:
    loom, everything = url(site, "/jobs/loom.rss"), url(site, "/jobs/all.xml")
    shown = await on_a_terminal("import", loom, everything, env=env, columns=80)
    assert re.search(r"…\S+/jobs/all.xml ━{12} completed, 5,000 records", shown)
    assert re.search(rf"^{loom}: completed, 40 records in [\d.]+ s: 40 new$", shown, re.MULTILINE)
    await webloom("feeds", "edit", loom, "--name", "loom & weft", env=env)
    listed = (await on_a_terminal("feeds", "list", env=env, columns=80)).splitlines()
    assert re.fullmatch(rf"\w{{16}}  {everything}", listed[0])
    assert re.fullmatch(r"\w{16}  loom & weft", listed[2])
    assert listed[3].strip() == loom
    assert re.fullmatch(r" +paused; completed .*\d\d:\d\d UTC", listed[4])


async def on_a_terminal(*arguments: str, env: Environment, columns: int) -> str:
    """What it shows there, without colours and the like."""
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "webloom", *arguments),
            env=env | {"COLUMNS": str(columns), "TERM": "xterm"},
            cwd=env["HOME"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    finally:
        os.close(theirs)
    shown = await asyncio.to_thread(_all_of, ours)
    assert await process.wait() == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n").replace("\r", "\n")


def _all_of(terminal: int) -> str:
    parts = []
    with open(terminal, "rb", buffering=0) as stream, suppress(OSError):  # EIO: they have gone
        while part := stream.read(65536):
            parts.append(part)
    return b"".join(parts).decode()


async def test_an_interrupted_import_is_given_back_and_gone_on_with(tmp_path: Path) -> None:
    requested = asyncio.Event()

    def answers(turn: int) -> Response:
        requested.set()
        return Response(body=HOSTILE, headers=XML, after=0.0 if turn else 300.0)

    quick = Page(path="/quick.rss", responses=(Response(body=HOSTILE, headers=XML),))
    async with serve([quick, Page(path="/slow.rss", responses=answers)]) as site:
        env = environment(tmp_path, allow_addresses=site.address, lease=600)
        urls = (url(site, "/quick.rss"), url(site, "/slow.rss"))
        process = await start("import", *urls, env=env)
        assert process.stderr is not None
        try:
            async with asyncio.timeout(60):
                await said(process.stderr, b"/quick.rss: partial")
                await requested.wait()
                process.send_signal(signal.SIGINT)
                summary, last = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        assert process.returncode == 130
        assert re.search(rb"/quick.rss +partial +2 +1 ", summary)
        assert b"/slow.rss" not in summary
        [run] = [each for each in await runs(env) if each.status is RunStatus.RUNNING]
        assert f"`webloom import {run.feed_id}` continues with it".encode() in last
        assert b"Traceback" not in last
        again = await webloom("import", run.feed_id, "--json", env=env)
    assert again.code == 3, again.err
    assert [log["runId"] for log in again.objects] == [run.run_id]


async def said(stream: asyncio.StreamReader, text: bytes) -> None:
    while line := await stream.readline():
        if text in line:
            return
    raise AssertionError(f"{text!r} was not said")


async def test_feed_prints_the_same_postings_of_a_url_a_file_and_standard_input(
    site: Site, env: Environment
) -> None:
    home = Path(env["HOME"])
    indeed = url(site, "/jobs/indeed.xml")
    page = next(feed.page for feed in demo_feeds() if feed.path == "/jobs/indeed.xml")
    (home / "feed.xml").write_bytes(page.response(0).body)
    fetched = await webloom("feed", indeed, env=env)
    read = await webloom("feed", "feed.xml", "--json", env=env)
    piped = await webloom("feed", "-", env=env, stdin=page.response(0).body)
    assert [each.code for each in (fetched, read, piped)] == [3, 3, 3], fetched.err
    own = {"dedupeKey", "contentHash", "sourceUrl", "sourceName"}
    shown = [
        [{key: value for key, value in posting.items() if key not in own} for posting in of.objects]
        for of in (fetched, read, piped)
    ]
    assert shown[0] == shown[1] == shown[2]
    assert len(shown[0]) == 60
    assert {posting["sourceUrl"] for posting in fetched.objects} == {indeed}
    assert "indeed: 67 records, 60 postings printed, 4 duplicates, 3 failed" in fetched.err
    assert names(home) == ["feed.xml"], "feed stores nothing"


async def test_feed_keeps_the_text_of_a_broken_feed_and_says_what_it_repaired(
    site: Site, env: Environment
) -> None:
    shown = await webloom("feed", url(site, "/jobs/market.rss"), "--limit", "3", env=env)
    assert shown.code == 0, shown.err
    assert len(shown.objects) == 3
    assert shown.objects[0]["title"].startswith("R&D ")
    assert shown.objects[0]["title"].endswith(" at the Café")
    assert shown.objects[0]["jobUrl"].endswith("?from=market&day=3000")
    assert "repaired" in shown.err


async def test_feed_reads_mapped_fields(site: Site, env: Environment) -> None:
    atom = url(site, "/jobs/guild.atom")
    mapped = await webloom("feed", atom, "--limit", "1", "--map", "company=title", env=env)
    [posting] = mapped.objects
    assert posting["company"] == posting["title"]
    for arguments, code, says in (
        (("--map", "company"), 2, "wants FIELD=PATH"),
        (("--map", "foo=bar"), 2, "'foo' can't be mapped"),
        (("--format", "fax"), 2, "format: 'fax' is not known"),
    ):
        refused = await webloom("feed", atom, *arguments, env=env)
        assert (refused.code, refused.out) == (code, ""), refused.err
        assert says in refused.err


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("/jobs/", "feed"),
        ("/nowhere.rss", "/nowhere.rss: the server answered 404"),
        ("nowhere.rss", "file not found; a URL begins with http://"),
        ("-", ""),
    ],
)
async def test_something_else_than_a_feed_is_exit_code_1(
    site: Site, env: Environment, source: str, says: str
) -> None:
    named = url(site, source) if source.startswith("/") else source
    refused = await webloom("feed", named, env=env)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("webloom: ")
    assert says in refused.err
    assert "Traceback" not in refused.err
    assert not (Path(env["HOME"]) / "data").exists()


async def test_a_reader_who_has_seen_enough_ends_a_feed_quietly(
    site: Site, env: Environment
) -> None:
    await ends_quietly_after_one_line(await start("feed", url(site, "/jobs/all.xml"), env=env))


async def test_feeds_are_added_edited_paused_resumed_and_removed(
    site: Site, env: Environment
) -> None:
    guild = url(site, "/jobs/guild.atom")
    options = ("--name", "The  guild", "--every", "30", "--map", "company=author/name")
    [added] = (await webloom("feeds", "add", guild, *options, "--json", env=env)).objects
    assert (added["url"], added["name"]) == (guild, "The guild")
    assert (added["intervalMinutes"], added["enabled"]) == (30, True)
    assert added["mapping"] == {"company": "author/name"}
    again = await webloom("feeds", "add", guild, env=env)
    assert again.code == 0
    otherwise = await webloom("feeds", "add", guild, "--name", "Other", env=env)
    assert otherwise.code == 1
    for each in (again, otherwise):
        assert "is there already and stays as it is; `webloom feeds edit" in each.err

    edited = await webloom(
        "feeds", "edit", "the GUILD", "--map", "company=", "--every", "0", "--format", "atom",
        "--json", env=env,
    )  # fmt: skip
    [changed] = edited.objects
    assert (changed["mapping"], changed["intervalMinutes"]) == ({}, None)
    assert (changed["format"], changed["name"]) == ("atom", "The guild")
    elsewhere = f"{guild}?moved"
    moved = await webloom("feeds", "edit", guild, "--url", elsewhere, "--json", env=env)
    [at] = moved.objects
    assert (at["url"], at["sourceUrl"], at["feedId"]) == (elsewhere, guild, changed["feedId"])
    assert elsewhere in (await webloom("feeds", "list", env=env)).out
    loom = url(site, "/jobs/loom.rss")
    await webloom("feeds", "add", loom, env=env)
    taken = await webloom("feeds", "edit", loom, "--url", elsewhere, env=env)
    assert taken.code == 1
    assert "this URL is a feed already: 'The guild'" in taken.err
    await webloom("feeds", "remove", loom, "--yes", env=env)
    paused = await webloom("feeds", "pause", changed["feedId"], env=env)
    assert "is paused, without a schedule" in paused.out
    listed = await webloom("feeds", "list", env=env)
    assert "The guild" in listed.out
    assert "paused" in listed.out
    resumed = await webloom("feeds", "resume", guild, env=env)
    assert re.search(r"imported every 60 min, next at .*\d\d:\d\d UTC", resumed.out)

    for answer in (b"n\n", b""):
        kept = await webloom("feeds", "remove", "The guild", env=env, stdin=answer)
        assert kept.code == 1
        assert "webloom: nothing was removed; --yes does not ask" in kept.err
    gone = await webloom("feeds", "remove", "The guild", "--yes", env=env)
    assert gone.code == 0, gone.err
    assert (await webloom("feeds", "list", "--json", env=env)).objects == []


async def test_without_a_database_commands_say_so_and_create_none(
    site: Site, env: Environment
) -> None:
    none = await webloom("feeds", "list", env=env)
    assert (none.code, none.err) == (0, "")
    assert "no feeds yet" in none.out
    guild = url(site, "/jobs/guild.atom")
    for arguments, code, says in (
        (("ftp://a.test/",), 1, "webloom: ftp://a.test/: the URL must begin with"),
        (("10.0.0.1/jobs",), 1, "webloom: 10.0.0.1/jobs: 10.0.0.1 is a private address"),
        ((guild, "--format", "fax"), 2, "format: 'fax' is not known"),
        ((guild, "--every", "-1"), 2, "got '-1', wants minutes, 0.05 to 525600, or 0"),
        ((guild, "--every", "abc"), 2, "got 'abc', wants minutes, 0.05 to 525600, or 0"),
    ):
        refused = await webloom("feeds", "add", *arguments, env=env)
        assert (refused.code, refused.out) == (code, ""), refused.err
        assert says in refused.err
    assert names(Path(env["HOME"])) == []
    added = await webloom("feeds", "add", guild, env=env)
    pattern = r"every 60 min, first at .*\d\d:\d\d UTC; `webloom import \w{16}` imports it now\n"
    assert re.search(pattern, added.out)


async def test_feeds_travel_as_opml(site: Site, env: Environment, tmp_path: Path) -> None:
    async with open_services(load_settings(env)) as services:
        for path, name in (("/jobs/loom.rss", "R&D <jobs>"), ("/jobs/guild.atom", "Guild")):
            await services.manage_feeds.add(url(site, path), name)
    written = await webloom("feeds", "export-opml", "feeds.opml", env=env)
    assert (written.code, written.out) == (0, "2 feeds written to feeds.opml\n")
    other = env | {"WEBLOOM_DATA_DIR": str(tmp_path / "other")}
    read = await webloom("feeds", "import-opml", "feeds.opml", env=other)
    assert (read.code, read.out) == (0, "2 added, 0 there already, 0 refused\n"), read.err
    async with open_services(load_settings(other)) as services:
        feeds = await services.imports.feeds.all()
    assert [feed.config.name for feed in feeds] == ["Guild", "R&D <jobs>"]
    shown = await webloom("feeds", "import-opml", "feeds.opml", "--dry-run", env=other)
    assert (shown.code, shown.out.splitlines()[-1]) == (
        0, "0 new, 2 there already, 0 listed twice, 0 refused; 0 pages without a feed",
    )  # fmt: skip
    assert shown.out.count("known") == 2
    more = b'<opml><body><outline text="x" xmlUrl="http://10.0.0.1/"/></body></opml>'
    refused = await webloom("feeds", "import-opml", "-", env=other, stdin=more)
    assert (refused.code, refused.out) == (3, "0 added, 0 there already, 1 refused\n")
    assert "http://10.0.0.1/: refused: " in refused.err


async def test_the_doctor_reports_feeds_that_fail_and_the_spool(
    site: Site, env: Environment
) -> None:
    assert (await webloom("import", url(site, "/jobs/"), env=env)).code == 1
    findings = (await webloom("doctor", "--json", env=env)).objects
    [failing] = [each for each in findings if "in a row" in each["detail"]]
    assert (failing["check"], failing["state"]) == ("feeds", "warning")
    assert failing["advice"] == f"`webloom feed '{url(site, '/jobs/')}'` shows what it is like now."
    [spool] = [each for each in findings if each["check"] == "spool"]
    assert spool["state"] == "ok"
    (Path(env["HOME"]) / "data" / "spool").rmdir()
    (Path(env["HOME"]) / "data" / "spool").write_text("in its place")
    blocked = await webloom("doctor", "--json", env=env)
    assert blocked.code == 1
    [spool] = [each for each in blocked.objects if each["check"] == "spool"]
    assert (spool["state"], "no feed can be imported" in spool["advice"]) == ("problem", True)
