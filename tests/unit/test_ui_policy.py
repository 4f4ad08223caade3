"""The Content-Security-Policy of the admin UI, also on another server."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path

from starlette.requests import Request

from webloom.entrypoints.api.ui import API_BASE, AdminUi
from webloom.entrypoints.api.ui_policy import policy, with_policy

SCRIPT = b"start('a')"
PAGE = (
    b'<!DOCTYPE html><html lang="en"><head><meta charSet="utf-8"/><link href="/a.css"/>'
    b'<script src="/a.js"></script><script>' + SCRIPT + b"</script></head></html>"
)
HASH = f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT).digest()).decode()}'"


def rules(text: str) -> dict[str, str]:
    return dict(rule.strip().split(" ", 1) for rule in text.split(";"))


def test_a_page_may_run_its_own_scripts_and_ask_its_own_server() -> None:
    found = rules(policy(PAGE))
    assert found["default-src"] == "'none'"
    assert found["script-src"] == f"'self' {HASH}"
    assert found["connect-src"] == "'self'"
    assert found["frame-ancestors"] == "'none'"


def test_a_page_may_ask_the_api_that_it_was_built_for() -> None:
    found = rules(policy(PAGE, "https://webloom.example.org:8443/under/a/path"))
    assert found["connect-src"] == "'self' https://webloom.example.org:8443"
    assert found["script-src"] == f"'self' {HASH}"


def test_a_page_for_another_server_carries_its_policy_before_what_it_restricts() -> None:
    changed = with_policy(PAGE, "https://webloom.example.org").decode()
    matched = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', changed)
    assert matched is not None
    found = rules(html.unescape(matched[1]))
    assert found["script-src"] == f"'self' {HASH}"
    assert found["connect-src"] == "'self' https://webloom.example.org"
    assert "frame-ancestors" not in found  # browsers complain about it in a page
    assert changed.index("charSet") < matched.start() < changed.index("<link")
    assert changed.replace(matched[0], "").encode() == PAGE


async def test_the_server_sends_the_policy_of_a_ui_for_an_api_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(PAGE)
    request = Request({"type": "http", "raw_path": b"/", "headers": []})
    usual = await AdminUi(tmp_path).respond(request)
    (tmp_path / API_BASE).write_text("https://webloom.example.org")
    elsewhere = await AdminUi(tmp_path).respond(request)
    allowed = [
        rules(answer.headers["content-security-policy"])["connect-src"]
        for answer in (usual, elsewhere)
    ]
    assert allowed == ["'self'", "'self' https://webloom.example.org"]
