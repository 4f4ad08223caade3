from __future__ import annotations

import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from faults.processes import Fleet
from faults.site import Site


class MakeFleet(Protocol):
    def __call__(
        self, *sites: Site, data: Path | None = ..., prefix: Sequence[str] = ..., **settings: object
    ) -> Fleet: ...


@pytest.fixture
def fleets(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MakeFleet]:
    """Makes fleets whose gate lets the given sites through; every process ends with the test."""
    made: list[Fleet] = []

    def make(
        *sites: Site, data: Path | None = None, prefix: Sequence[str] = (), **settings: object
    ) -> Fleet:
        folder = tmp_path / f"fleet{len(made)}"
        folder.mkdir()
        data = data or folder / "data"
        given = {
            "allow_addresses": ",".join(site.address for site in sites),
            "data_dir": data,
            "host_concurrency": 64,
        } | settings
        variables = {f"WEBLOOM_{name.upper()}": str(value) for name, value in given.items()}
        made.append(Fleet(folder=folder, settings=variables, data=data, prefix=prefix))
        return made[-1]

    try:
        yield make
    finally:
        for fleet in made:
            fleet.end()
        for fleet in made:
            fleet.tell()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Tell a figure: shown when the test fails, and with `pytest -rP`."""

    def write(text: str) -> None:
        sys.stdout.write(f"{request.node.name}: {text}\n")

    return write


@pytest.fixture
def rng(say: Callable[[str], None]) -> random.Random:
    """Randomness of which a failed run tells the seed."""
    seed = int(os.environ.get("FAULTS_SEED", "20240607"))
    say(f"FAULTS_SEED={seed}")
    return random.Random(seed)
