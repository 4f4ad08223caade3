"""`webloom new-key`: an API key, which is stored nowhere."""

from __future__ import annotations

import hashlib
import secrets

import typer


def new_key() -> None:
    """Make an API key, and its hash for WEBLOOM_API_KEYS."""
    key = f"wl_{secrets.token_urlsafe(32)}"
    typer.echo(f"key for the client, shown this once:  {key}")
    digest = hashlib.sha256(key.encode()).hexdigest()
    typer.echo(f"for the server:  WEBLOOM_API_KEYS=sha256:{digest}")
