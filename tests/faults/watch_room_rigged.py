"""Run webloom with one part of it rigged, as the RIGGED_ variables say.

RIGGED_FULL_PAUSE     seconds for which an event waits while there is no room for it
RIGGED_PAGE_WALL      seconds on the clock for each second of CPU time that a page may take
RIGGED_WATCH_SECONDS  for which a scheduler that was killed still has the watches
RIGGED_LOOK_SECONDS   after which it is asked again what MongoDB holds
"""

from __future__ import annotations

import os
from unittest.mock import patch

from webloom.entrypoints.cli.main import main

RIGGED = {
    "RIGGED_FULL_PAUSE": "webloom.application.watch.store_event.FULL_PAUSE",
    "RIGGED_LOOK_SECONDS": "webloom.adapters.mongodb.page_storage.MEASURED_SECONDS",
    "RIGGED_PAGE_WALL": "webloom.adapters.page_process.reader._WALL_PER_CPU_SECOND",
    "RIGGED_WATCH_SECONDS": "webloom.entrypoints.scheduler.WATCH_SECONDS",
}

if __name__ == "__main__":
    for variable, name in RIGGED.items():
        if variable in os.environ:
            patch(name, float(os.environ[variable])).start()
    main()
