"""Run webloom with one part of it rigged, as the RIGGED_ variables say.

RIGGED_DEADLY_PATH   fetching a URL with this path kills the process
RIGGED_CLOCK_FILE    the wall clock is off by the number of seconds in this file, read at every look
RIGGED_TICK          seconds between two ticks of the scheduler
RIGGED_QUIET         seconds after which the scheduler thinks a request forgotten
RIGGED_HEARTBEAT     seconds between two heartbeats on a connection to RabbitMQ
"""

from __future__ import annotations

import os
import signal
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from webloom.adapters.http.fetcher import HttpFetcher
from webloom.adapters.system_clock import SystemClock
from webloom.application.inventory.requeue_forgotten import RequeueForgotten
from webloom.bootstrap.network import network_policy
from webloom.domain.inventory import Received
from webloom.entrypoints.cli.main import main
from webloom.settings import Settings


class DeadlyFetcher(HttpFetcher):
    async def fetch(self, url: str) -> Received:
        if urlsplit(url).path == os.environ["RIGGED_DEADLY_PATH"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().fetch(url)


class JumpingClock(SystemClock):
    def now(self) -> datetime:
        shift = Path(os.environ["RIGGED_CLOCK_FILE"]).read_text()
        return super().now() + timedelta(seconds=float(shift or 0))


def deadly_fetcher(settings: Settings, _: object) -> HttpFetcher:
    return DeadlyFetcher(policy=network_policy(settings))


def rig() -> None:
    if "RIGGED_DEADLY_PATH" in os.environ:
        patch("webloom.entrypoints.worker.http_fetcher", deadly_fetcher).start()
    if "RIGGED_CLOCK_FILE" in os.environ:
        patch("webloom.bootstrap.connections.SystemClock", JumpingClock).start()
    if "RIGGED_TICK" in os.environ:
        seconds = float(os.environ["RIGGED_TICK"])
        patch("webloom.entrypoints.scheduler.TICK_SECONDS", seconds).start()
    if "RIGGED_QUIET" in os.environ:
        impatient = partial(RequeueForgotten, quiet_for=float(os.environ["RIGGED_QUIET"]))
        patch("webloom.bootstrap.services.RequeueForgotten", impatient).start()
    if "RIGGED_HEARTBEAT" in os.environ:
        beat = int(os.environ["RIGGED_HEARTBEAT"])
        patch("webloom.adapters.rabbitmq.connection.HEARTBEAT", beat).start()


if __name__ == "__main__":
    rig()
    main()
