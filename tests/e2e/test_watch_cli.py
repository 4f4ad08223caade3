"""`webloom watch`, `watches`, `history`, `storage` and `storage-agent` as a user runs them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from changedetection import backup, watch
from e2e.running import running, until, until_some
from e2e.shop_site import ShopSite, product
from e2e.test_cli import Environment, Finished, environment, webloom
from e2e.watched_site import ALLOWED
from webloom.bootstrap.connections import open_services
from webloom.bootstrap.services import Services
from webloom.domain.page import STORAGE_QUEUE
from webloom.domain.watch import RunStatus, WatchRun
from webloom.parsing.storage_event import event_of
from webloom.ports.broker import Message
from webloom.ports.heartbeats import ALIVE_SECONDS
from webloom.ports.watch_run_listing import RunFilter
from webloom.settings import load_settings

CHAIR, TABLE = "https://shop.test/chair", "https://shop.test/table"


@pytest.fixture
def env(tmp_path: Path) -> Environment:
    return environment(tmp_path, allow_addresses=ALLOWED, retry_delay=0.02)


@pytest.fixture
async def site() -> AsyncIterator[ShopSite]:
    async with ShopSite() as site:
        yield site


async def all_of(*commands: tuple[str, ...], env: Environment) -> list[Finished]:
    """At the same time, as none of them changes anything."""
    return await asyncio.gather(*(webloom(*command, env=env) for command in commands))


async def test_what_can_not_be_watched_is_refused_at_once_with_what_to_do(
    env: Environment,
) -> None:
    cases = [
        (("watch", "http://192.168.1.1/"), ["urls", "WEBLOOM_ALLOW_ADDRESSES"]),
        (("watch", "192.168.1.1"), ["urls", "a private address"]),
        (("watch", CHAIR, "--every", "5", "--cron", "@daily"), ["schedule"]),
        (("watch", CHAIR, "--price-below", "cheap"), ["cheap", "79.90"]),
        (("watch", CHAIR, "--secret", "s"), ["--notify"]),
    ]
    for (command, parts), done in zip(
        cases, await all_of(*(command for command, _ in cases), env=env), strict=True
    ):
        said = " ".join(done.err.replace("│", " ").split())
        assert (done.code, done.out) == (2, ""), command
        assert [part for part in parts if part not in said] == [], said


async def test_watches_are_added_edited_moved_and_removed(env: Environment) -> None:
    options = (
        "--name", "Chairs", "--every", "30", "--price-below", "79.90", "--ignore", "seen by",
        "--notify", "https://hook.test/token", "--secret", "s3cret", "--digest", "60",
    )  # fmt: skip
    added = await webloom("watch", CHAIR, TABLE, *options, "--json", env=env)
    assert added.code == 0, added.err
    [watch] = added.objects
    assert (watch["name"], watch["urls"]) == ("Chairs", [CHAIR, TABLE])
    assert watch["thresholds"]["priceBelow"] == 79.9
    assert watch["targets"] == [{"url": "https://hook.test/…", "signed": True, "digestMinutes": 60}]
    assert "no scheduler and no worker is running" in added.err
    assert "webloom up" in added.err

    plain = await webloom("watch", "https://shop.test/x", "--cron", "@daily", env=env)
    assert "1 page, @daily UTC, first at " in plain.out

    edited = await webloom(
        *("watches", "edit", "chairs", "--keep", "main", "--reset", "thresholds"),
        *("--text-contains", "sale", "--accept-events", "--tag", "Wood", "--tag", "b c", "--json"),
        env=env,
    )
    assert watch["acceptsEvents"] is False
    [watch] = edited.objects
    assert watch["acceptsEvents"] is True
    assert watch["tags"] == ["Wood", "b c"]
    assert watch["selection"]["keep"] == ["main"]
    assert watch["selection"]["ignoreText"] == ["seen by"]
    assert watch["thresholds"] == {
        "textContains": ["sale"], "priceBelow": None, "priceChangePercent": None,
    }  # fmt: skip

    paused = await webloom("watches", "pause", "Chairs", env=env)
    assert paused.out == f"Chairs ({watch['jobId']}) is paused\n"
    run = await webloom("watches", "run", watch["jobId"], env=env)
    assert run.code == 0, run.err
    assert "Chairs is being checked, run " in run.out
    assert f"`webloom history {CHAIR}` shows what is seen" in run.out
    assert "nothing is checked yet" in run.err

    listing, objects, exported, again, unknown, unseen, doctor = await all_of(
        ("watches", "list"),
        ("watches", "list", "--tag", "wood", "--json"),
        ("watches", "export"),
        ("watches", "edit", "Chairs"),
        ("watches", "resume", "Benches"),
        ("history", CHAIR),
        ("doctor", "--json"),
        env=env,
    )
    heading, *rows = listing.out.splitlines()
    assert heading.split("  ")[0] == "id"
    assert [row.split()[1] for row in rows] == ["Chairs", "https://shop.test/x"]
    assert "paused" in rows[0]
    assert "running" in rows[0]
    assert [each["name"] for each in objects.objects] == ["Chairs"]
    assert "s3cret" not in objects.out
    assert (again.code, unknown.code, unseen.code) == (2, 1, 1)
    assert "such as --every 30" in again.err
    assert "watch Benches not found; `webloom watches list`" in unknown.err
    assert f"{CHAIR} is watched, and was not checked yet" in unseen.err
    findings = {each["check"]: each for each in doctor.objects}
    assert findings["scheduler"]["state"] == "warning"
    assert "1 watch waits" in findings["scheduler"]["detail"], "the other one is paused"
    assert findings["watches"]["detail"] == "2 watches, 1 of them on a schedule"

    entries = json.loads(exported.out)
    assert [each["targets"] for each in entries if each["name"] == "Chairs"] == [
        [{"url": "https://hook.test/token", "secret": "s3cret", "digestMinutes": 60}]
    ]
    assert [each["acceptsEvents"] for each in entries] == [True, False]
    assert [each["tags"] for each in entries] == [["Wood", "b c"], []]
    imported = await webloom("watches", "import", "-", env=env, stdin=exported.out.encode())
    assert (imported.code, imported.out) == (0, "2 watches added, 0 refused\n"), imported.err
    twice = await webloom("watches", "remove", "Chairs", "--yes", env=env)
    assert twice.code == 1
    assert "2 watches are called Chairs: name one by its id" in twice.err
    kept = await webloom("watches", "remove", watch["jobId"], env=env)
    assert kept.code == 1
    assert "nothing was removed; --yes does not ask" in kept.err
    removed = await webloom("watches", "remove", watch["jobId"], "--yes", "--pages", env=env)
    assert removed.out == f"Chairs ({watch['jobId']}) is removed\n"


MAIL = "mailto://me:pa55word@example.test?to=you@example.test"
HOOK = "https://hook.test/a"
ADDRESSES = f"""
# those who are notified
{HOOK}

  {MAIL}
"""


async def targets_of(env: Environment) -> list[list[dict[str, Any]]]:
    exported = await webloom("watches", "export", env=env)
    return [each["targets"] for each in json.loads(exported.out)]


@pytest.mark.parametrize("source", ["file", "stdin"])
async def test_targets_come_from_a_file_or_standard_input(
    env: Environment, tmp_path: Path, source: str
) -> None:
    file, secret = tmp_path / "targets", tmp_path / "secret"
    file.write_text("\ufeff" + ADDRESSES, encoding="utf-8")
    secret.write_text("s3cret\n")
    named, stdin = (str(file), b"") if source == "file" else ("-", ADDRESSES.encode())
    options = ("--notify-file", named, "--secret-file", str(secret))
    added = await webloom("watch", CHAIR, "--name", "a", *options, env=env, stdin=stdin)
    assert added.code == 0, added.err
    edited = await webloom("watch", TABLE, "--name", "b", env=env)
    assert edited.code == 0, edited.err
    edited = await webloom(
        "watches", "edit", "b", "--notify", "https://hook.test/b", *options, env=env, stdin=stdin
    )
    assert edited.code == 0, edited.err
    said = added.out + added.err + edited.out + edited.err
    assert "pa55word" not in said
    assert "s3cret" not in said
    assert "list of processes" not in said, "nothing secret was on a command line"
    urls = [[each["url"] for each in targets] for targets in await targets_of(env)]
    assert sorted(urls) == sorted([[HOOK, MAIL], ["https://hook.test/b", HOOK, MAIL]])
    assert {each["secret"] for targets in await targets_of(env) for each in targets} == {"s3cret"}


async def test_a_password_on_the_command_line_works_with_a_warning(env: Environment) -> None:
    mail, signed, plain = [
        await webloom("watch", CHAIR, *options, "--json", env=env)
        for options in (
            ("--notify", MAIL),
            ("--notify", HOOK, "--secret", "s3cret"),
            ("--notify", HOOK),
        )
    ]
    assert (mail.code, signed.code, plain.code) == (0, 0, 0), mail.err + signed.err + plain.err
    warning = "is on the command line, and other users of this machine can see it"
    assert f"--notify {warning}" in mail.err
    assert "use --notify-file" in mail.err
    assert "pa55word" not in mail.err
    assert f"--secret {warning}" in signed.err
    assert "use --secret-file" in signed.err
    assert warning not in plain.err
    assert len(await targets_of(env)) == 3
    shown = await webloom("watch", "--help", env=env)
    text = " ".join(shown.out.replace("│", " ").split())
    assert "--notify-file" in text
    assert "other users of this machine can see it" in text


async def test_a_bad_file_of_targets_is_refused_without_its_content(
    env: Environment, tmp_path: Path
) -> None:
    contents = {
        "empty": b"# no address\n\n",
        "binary": b"mailto://me:pa55word@\xff",
        "bad": b"nonsense pa55word\n",
        "unknown": b"nonsense://pa55word\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    cases = [
        (("--notify-file", "missing"), "can't read missing"),
        (("--notify-file", "empty"), "empty contains no URL"),
        (("--notify-file", "binary"), "binary is not UTF-8 text"),
        (("--notify-file", "bad"), "a target is a URL without spaces"),
        (("--notify-file", "unknown"), "nonsense://… is refused"),
        (("--notify", HOOK, "--secret", "x", "--secret-file", "bad"), "either --secret or"),
        (("--notify-file", "-", "--secret-file", "-"), "only one of --notify-file"),
        (("--notify", HOOK, "--secret-file", "-"), "there is nothing in standard input"),
        (("--secret-file", "bad"), "--notify"),
    ]
    done = await all_of(*(("watch", CHAIR, *options) for options, _ in cases), env=env)
    for (options, reason), each in zip(cases, done, strict=True):
        said = " ".join(each.err.replace("│", " ").split())
        assert each.code in (1, 2), options
        assert reason in said, (options, said)
        assert "pa55word" not in said


async def test_a_list_is_imported_as_far_as_it_can_be(env: Environment, tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_bytes(msgspec.json.encode([CHAIR, {"url": "ftp://nowhere", "name": "\x1b[2J"}]))
    done = await webloom("watches", "import", file, env=env)
    assert (done.code, done.out) == (3, "1 watch added, 1 refused\n")
    assert done.err.startswith("\\x1b[2J: urls: ftp://nowhere")
    objects = await webloom("watches", "import", file, "--json", env=env)
    added, refused = objects.objects
    assert (objects.code, added["urls"], refused["entry"]) == (3, [CHAIR], "\x1b[2J")
    missing, empty = await all_of(
        ("watches", "import", str(tmp_path / "none")), ("watches", "import", "-"), env=env
    )
    assert (missing.code, empty.code) == (1, 1)
    assert "can't read" in missing.err
    assert "the list is empty" in empty.err


async def test_a_list_is_shown_before_it_is_imported(env: Environment, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    file.write_bytes(
        backup(
            watch(CHAIR, title="\x1b[2J[red]Chair", time_between_check={"hours": 3}),
            watch(CHAIR),
            watch("https://shop.test/paused", paused=True, headers={"A": "b"}),
            watch("ftp://shop.test/"),
            more={f"0/{number}.txt.br": b"" for number in range(30_001)},
        )
    )
    shown = await webloom("watches", "import", file, "--dry-run", env=env)
    assert shown.code == 3
    *rows, summary = shown.out.splitlines()
    assert summary == "2 new, 0 watched already, 1 listed twice, 1 refused"
    assert [row.split()[0] for row in rows] == ["state", "new", "repeated", "new", "refused"]
    assert "[2J[red]Chair" in rows[1]
    assert "every 180 min" in rows[1]
    assert "paused" in rows[3]
    assert "not carried over: Request headers" in rows[3]
    assert "not carried over: Snapshots and history" in shown.err
    assert (await webloom("watches", "list", "--json", env=env)).objects == []

    done = await webloom("watches", "import", file, "--skip-known", env=env)
    assert (done.code, done.out) == (3, "2 watches added, 1 left out, 1 refused\n")
    content = file.read_bytes()
    again = await webloom("watches", "import", file, "--dry-run", "--json", env=env)
    piped = await webloom("watches", "import", "-", env=env, stdin=content)
    assert [each["state"] for each in again.objects] == ["known", "known", "known", "refused"]
    assert "more than 30,000 files" in piped.err, "an archive in memory"


async def test_history_says_that_a_page_needs_javascript(env: Environment) -> None:
    url, reason = (
        "https://shop.test/app",
        "The text of this page appears only with JavaScript: why.",
    )
    kind = {"type": "other", "confidence": 0.0, "reasons": [reason]}
    parsed = {"title": "App", "text": "a little"}
    event = {"jobId": "j", "url": url, "ts": 1, "parsed": parsed, "classification": kind}
    async with open_services(load_settings(env)) as services:
        stored = event_of(msgspec.json.encode(event), received=services.clock.now())
        await services.pages.store_event(stored)
    shown = await webloom("history", url, env=env)
    assert reason in shown.out


async def test_history_shows_versions_changes_and_prices(
    env: Environment, site: ShopSite, tmp_path: Path
) -> None:
    url = site.url("/loom")
    title = "[red]Loom[/red]"
    site.pages["/loom"] = product("1300", title=title)
    settings = {"allow_addresses": ALLOWED, "retry_delay": 0.02}
    async with (
        running("up", data_dir=tmp_path / "data", **settings),
        open_services(load_settings(env)) as services,
    ):

        async def are_heard_of() -> bool:
            seen = await services.heartbeats.seen(ALIVE_SECONDS)
            return {each.heartbeat.role for each in seen} >= {"scheduler", "worker"}

        await until(are_heard_of, what="the first heartbeats")
        added = await webloom("watch", url, "--name", "Looms", env=env)
        assert added.code == 0, added.err
        assert added.err == "", "a scheduler and a worker are there"
        await finished_runs(services, 1)
        site.pages["/loom"] = product("1295.50", title=title)
        assert (await webloom("watches", "run", "Looms", env=env)).code == 0
        await finished_runs(services, 2)
        shown, objects, storage, usage, unknown = await all_of(
            ("history", url),
            ("history", url.replace("http", "HTTP"), "--json", "--limit", "1"),
            ("storage",),
            ("storage", "--prune", "--json"),
            ("history", "https://shop.test/other"),
            env=env,
        )
    assert shown.code == 0, shown.err
    assert f"{title}  {url}" in shown.out
    assert "the price fell by 0.35 % to 1,295.50 EUR" in shown.out
    assert "price 1,295.50 EUR" in shown.out
    lowest = "lowest 1,295.50 EUR (1,295.50 EUR in the last 90 days), median 1,297.75 EUR, "
    assert lowest in shown.out
    assert "highest 1,300.00 EUR of 2" in shown.out
    assert "-0.35 %" in shown.out
    kinds = [next(iter(each)) for each in objects.objects]
    assert kinds == ["page", "version", "change", "price"]
    page, version, change, price = objects.objects
    assert page["page"]["price"] == 1295.5
    assert version["version"]["version"] == 2
    assert change["change"]["version"] == {"previous": 1, "current": 2}
    assert price["price"]["changePercent"] == -0.35
    assert "of 512 MB used" in storage.out
    [reported] = usage.objects
    assert (reported["budget"], reported["full"]) == (512 << 20, False)
    assert "0 items removed" in usage.err
    assert unknown.code == 1
    assert "nothing is known about https://shop.test/other; `webloom watch`" in unknown.err


async def finished_runs(services: Services, count: int) -> list[WatchRun]:
    async def look() -> list[WatchRun] | None:
        runs, _ = await services.watch_run_listing.runs(RunFilter(), limit=100)
        done = [run for run in runs if run.status is not RunStatus.IN_PROGRESS]
        return done if len(done) == count else None

    return await until_some(look, what=f"{count} runs to be over")


async def test_the_storage_agent_runs_alone_until_it_is_stopped(
    env: Environment, tmp_path: Path
) -> None:
    event: dict[str, Any] = {"jobId": "theirs", "url": CHAIR, "parsed": {"title": "Chair"}}
    async with (
        running("storage-agent", data_dir=tmp_path / "data") as agent,
        open_services(load_settings(env)) as services,
    ):
        body = json.dumps(event).encode()
        await services.broker.publish(STORAGE_QUEUE, Message(id="1", body=body))

        async def look() -> str | None:
            page = await services.pages.find_page("theirs", CHAIR)
            return None if page is None else page.title

        assert await until_some(look, what="the event") == "Chair"
        alive, other = await all_of(("alive", "storage-agent"), ("alive", "worker"), env=env)
        assert (alive.code, other.code) == (0, 1)
        assert await agent.stop() == 0
        assert "storage agent stopped" in agent.log
