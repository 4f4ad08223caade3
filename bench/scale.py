"""How quick look-ups and listings stay when the inventory grows a hundredfold."""

import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import quote, urlencode

from bench.api import _api
from bench.load import Request, run_load
from bench.records import record_host, record_url, write_records
from bench.table import Row

SMALL, LARGE = 10_000, 1_000_000
CONNECTIONS = 4
REQUESTS = 4_000
PAGES = 1_500
ROUNDS = 5


async def measure() -> list[Row]:
    p99: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (SMALL, LARGE):
            await write_records(Path(folder) / str(count), count)
        async with (
            _api(str(Path(folder) / str(SMALL))) as small,
            _api(str(Path(folder) / str(LARGE))) as large,
        ):
            for round_number in range(ROUNDS + 1):
                for count, base in ((SMALL, small), (LARGE, large)):
                    for name, requests in _requests(count, round_number).items():
                        result = await run_load(
                            base, requests, connections=CONNECTIONS, seconds=60, total=len(requests)
                        )
                        if set(result.statuses) != {"200"}:
                            raise RuntimeError(f"unexpected answers: {result}")
                        if round_number:  # the first only warms up
                            p99.setdefault((name, count), []).append(result.p99_ms)
    return [
        Row(
            measure=f"p99 of {name} at {LARGE:,} records",
            unit="ms",
            webloom=median(p99[name, LARGE]),
            peer=f"at {SMALL:,}",
            peer_value=median(p99[name, SMALL]),
            must=1.5,
            lower_is_better=True,
        )
        for name in ("GET /metadata", "GET /metadata/records")
    ]


def _requests(count: int, seed: int) -> dict[str, list[Request]]:
    chance = random.Random(seed)
    look_ups = [
        Request(
            path=f"/metadata?url={quote(record_url(chance.randrange(count)), safe='')}&source=false"
        )
        for _ in range(REQUESTS)
    ]
    pages = [Request(path=f"/metadata/records?{_query(count, chance)}") for _ in range(PAGES)]
    return {"GET /metadata": look_ups, "GET /metadata/records": pages}


def _query(count: int, chance: random.Random) -> str:
    """Every filter and their combinations, at any depth of the listing."""
    number = chance.randrange(count)
    before = datetime.now(UTC) - timedelta(seconds=count - number)
    filters = {
        "status": chance.choice(["COMPLETED", "FAILED_PERMANENT"]),
        "host": record_host(number),
        "q": chance.choice([f"item-{number}", "category 13", "example"]),
        "to": before.isoformat(),
        "from": (before - timedelta(days=1)).isoformat(),
    }
    chosen = {name: value for name, value in filters.items() if chance.random() < 0.4}
    return urlencode({"limit": 50} | chosen)
