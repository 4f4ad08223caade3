"""What README and docs tell people to type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "deploy/Dockerfile", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"\b(webloom|curl|docker|export|env)\b.*\s(-|@|[A-Z_]+=)|^\$ |=\S+ webloom ")
SECRET = re.compile(
    r"://[^/\s@]*:[^/\s@]+@"  # an address with a password
    r"|-H\s+[\"']?(Authorization|X-API-Key)"  # a key
    r"|--secret\s|--notify\s+(?!https?://)\S*://"
    r"|API_KEYS=|\$WEBLOOM_STORE\b"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_shows_a_password(page: Path) -> None:
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    text = "\n".join(blocks) if page.suffix == ".md" else page.read_text()
    lines = text.replace("\\\n", " ").splitlines()
    shown = [line for line in lines if COMMAND.search(line) and SECRET.search(line)]
    assert shown == []
