from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from e2e.api_client import Api, calling
from e2e.running import Webloom


@pytest.fixture
async def api(whole: Webloom) -> AsyncIterator[Api]:
    """`whole` is what the module or the folder of the test runs."""
    async with calling(whole) as api:
        yield api
