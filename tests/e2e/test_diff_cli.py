"""`webloom diff` as a user runs it: real processes, and a site on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from e2e.running import environment, finished
from webloom_demo.site import Page, Response, serve

OLD = """<!doctype html><html><head><title>Blue loom</title></head><body><main>
<h1>Blue loom</h1><p>Price: $10.99</p><p>Made of \x1b[2J oak</p>
<img src="/1.png"><a href="/guide">Guide</a></main></body></html>"""
NEW = (
    OLD.replace("10.99", "12.49")
    .replace("/1.png", "/2.png")
    .replace("<title>Blue", "<title>Red")
    .replace("oak", "elm")
)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "old.html").write_text(OLD)
    (tmp_path / "new.html").write_text(NEW)
    (tmp_path / "picture").write_bytes(bytes(100))
    (tmp_path / "spaced.html").write_text(OLD.replace("<p>", "\n\n  <p>  "))
    return {**environment(tmp_path / "data"), "HOME": str(tmp_path)}


async def test_pages_are_compared_by_what_is_in_them(env: dict[str, str]) -> None:
    shown, reported, same, source = await asyncio.gather(
        finished("diff", "old.html", "new.html", env=env),
        finished("diff", "old.html", "new.html", "--json", env=env),
        finished("diff", "old.html", "spaced.html", env=env),
        finished("diff", "--text", "--form", "side-by-side", "old.html", "new.html", env=env),
    )
    assert (shown.returncode, shown.stderr) == (1, "")
    lines = shown.stdout.splitlines()
    assert lines[:3] == ["title", "-Blue loom", "+Red loom"]
    assert {"-/1.png", "+/2.png", "-Price: $10.99", "+Price: $12.49", " Blue loom"} <= set(lines)
    assert "\x1b" not in shown.stdout

    assert reported.returncode == 1
    got = json.loads(reported.stdout)
    assert (got["old"], got["new"], got["isDifferent"]) == ("old.html", "new.html", True)
    assert got["diff"]["textChanged"] is True
    assert got["diff"]["images"]["added"] == ["/2.png"]
    assert got["diff"]["text"]["linesAdded"] == 2

    assert (same.returncode, same.stdout, same.stderr) == (0, "", "")

    assert source.returncode == 1
    assert "<title>Blue" in source.stdout
    assert " | " in source.stdout


async def test_a_url_is_compared_with_a_file(env: dict[str, str]) -> None:
    pages = [
        Page(path="/loom", responses=(Response(body=OLD.encode()),)),
        Page(path="/gone", responses=(Response(body=b"no", status=404),)),
    ]
    async with serve(pages) as site:
        allowed = {**env, "WEBLOOM_ALLOW_ADDRESSES": site.address}
        loom, gone = site.urls
        same, changed, refused, missing = await asyncio.gather(
            finished("diff", loom, "old.html", env=allowed),
            finished("diff", loom, "new.html", env=allowed),
            finished("diff", loom, "old.html", env=env),
            finished("diff", "old.html", gone, env=allowed),
        )
    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    assert changed.returncode == 1
    assert f"+http://{site.address}/2.png" in changed.stdout
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "WEBLOOM_ALLOW_ADDRESSES" in refused.stderr
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "404" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("old.html", "nothing.html"), "nothing.html: file not found"),
        (("old.html", "picture"), "picture: it is not text"),
    ],
)
async def test_failure_to_compare_is_exit_code_2(
    arguments: tuple[str, ...], said: str, env: dict[str, str]
) -> None:
    got = await finished("diff", *arguments, env=env)
    assert (got.returncode, got.stdout) == (2, "")
    assert said in got.stderr
