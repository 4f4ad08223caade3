"""`webloom demo`: what a newcomer runs first."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path
from urllib.request import urlopen

from e2e.test_cli import counts, ends_quietly_after_one_line, environment, start, webloom
from timeouts import TIMEOUT_SECONDS
from webloom.domain.inventory import Status
from webloom_demo.site import demo_pages


async def test_demo_brings_every_page_to_its_final_state(tmp_path: Path) -> None:
    env = environment(tmp_path)
    shown = await webloom("demo", "--once", env=env)
    assert shown.code == 0, shown.err
    assert shown.err == ""
    found = await counts(env | {"WEBLOOM_DATA_DIR": str(tmp_path / "data" / "demo")})
    pages = len(demo_pages())
    assert 100 <= pages <= 140
    assert found[Status.COMPLETED] + found[Status.FAILED_PERMANENT] == pages
    assert sum(found.values()) == pages
    assert found[Status.FAILED_PERMANENT] == 7
    assert re.search(r"/long-lunch +503 twice, then 200 +COMPLETED +200 +3", shown.out)
    assert re.search(r"/till +always 500 +FAILED_PERMANENT +500 +3", shown.out)
    assert "10.0.0.1 is a private address" in shown.out
    assert not (tmp_path / "data" / "webloom.db").exists(), "the user's own data is not touched"
    first, second = shown.out.partition("The first import:")[2].split("The same feeds again")
    assert re.search(r"Loom & Weft +completed +40 +40 +0 +0 +0 +0 +0 +0 ", first)
    assert re.search(r"Loom & Weft +completed +40 +2 +3 +35 +0 +0 +2 +0 ", second)
    assert re.search(r"Weavers' guild +completed, unmodified +0 ", second)
    assert re.search(r"Mills of the valley +partial +67 +60 +0 +0 +4 +3 ", first)
    assert re.search(r"Flea market +completed +30 +30 +0 +0 +0 +0 +0 +[1-9]", first)
    assert re.search(r"Everything everywhere +completed +5,000 +5,000 +0 +0 ", first)
    assert re.search(r"Everything everywhere +completed +5,000 +2 +20 +4,978 ", second)
    assert re.search(r"Notice board +failed +0 ", first)
    _, checks, kept, _, changes = shown.out.partition("Watching the sale")[2].split("\n\n", 4)
    assert checks.splitlines()[:2] == [
        "check 1: 6 pages, 0 changed",
        "check 2: 6 pages, 3 changed, 2 prices moved",
    ]
    assert re.search(r"^check 4: .*, loom not seen: .*Just a moment", checks, re.MULTILINE)
    assert re.search(r"^/sale/coat .* 7 +189\.00 EUR +█▆▃▁▂▄█ +in_stock", kept, re.MULTILINE)
    assert re.search(r"^/sale/carpet .* 7 +1,249\.00 EUR +█▆▄▁▄█▆ ", kept, re.MULTILINE)
    assert re.search(r"^/sale/loom .* 4 +79,999\.00 INR +▅█▁▅ ", kept, re.MULTILINE)
    assert re.search(r"^/sale/clock .* 1 +- +- ", kept, re.MULTILINE), "a wall, a clock: no change"
    assert re.search(r"/sale/shirt +4 -> 5 +the price rose by 37\.59 % to 54\.90 EUR", changes)
    assert not re.search(r" $", shown.out, re.MULTILINE), "no line ends in blanks"


async def test_demo_prints_json_lines_for_programs(tmp_path: Path) -> None:
    shown = await webloom("demo", "--once", "--json", env=environment(tmp_path))
    assert shown.code == 0, shown.err
    kinds = [next(iter(each)) for each in shown.objects]  # every line is an object
    assert list(dict.fromkeys(kinds)) == [
        "site", "progress", "record", "feed", "importRun", "watch", "watchRun", "page", "price",
        "change",
    ]  # fmt: skip
    reported = {kind: [each[kind] for each in shown.objects if kind in each] for kind in kinds}
    pages = len(demo_pages())
    assert reported["site"][0]["pages"] == pages
    last = reported["progress"][-1]
    assert (last["COMPLETED"], last["FAILED_PERMANENT"]) == (pages - 7, 7)
    assert {each["status"] for each in reported["record"]} == {"COMPLETED", "FAILED_PERMANENT"}
    assert len(reported["importRun"]) == 2 * len(reported["feed"])
    assert [each["totalFetched"] for each in reported["importRun"]].count(5000) == 2
    assert [each["pagesProcessed"] for each in reported["watchRun"]] == [6] * 8
    assert {each["currency"] for each in reported["price"]} >= {"EUR", "INR"}
    assert all("about" in each for each in shown.objects if "page" in each or "record" in each)


async def test_a_reader_who_has_seen_enough_ends_the_demo_quietly(tmp_path: Path) -> None:
    await ends_quietly_after_one_line(await start("demo", "--json", env=environment(tmp_path)))


async def test_demo_says_what_to_try_and_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    env = environment(tmp_path)
    process = await start("demo", env=env)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            said = (await process.stdout.readuntil(b"Ctrl-C ends the demo.\n")).decode()
            [look_up] = re.findall(r"curl '(\S+/metadata\?url=\S+)'", said)
            answer = await asyncio.to_thread(_read, look_up)
            assert '"status":"COMPLETED"' in answer
            demo = env | {"WEBLOOM_DATA_DIR": f"{tmp_path}/data/demo"}
            for command in ("export", "watches list", "history", "storage"):
                assert f"WEBLOOM_DATA_DIR={tmp_path}/data/demo webloom {command}" in said
            [coat] = re.findall(r"webloom history (\S+)", said)
            seen = await webloom("history", coat, "--json", env=demo)
            assert seen.objects[0]["page"]["title"] == "Tweed coat | Loom & Weft", seen.err
            [prices] = re.findall(r"curl '(\S+/prices\?\S+)'", said)
            assert ",EUR," in await asyncio.to_thread(_read, prices)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def _read(url: str) -> str:
    with urlopen(url, timeout=TIMEOUT_SECONDS) as response:
        return str(response.read().decode())
