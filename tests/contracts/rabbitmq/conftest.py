from __future__ import annotations

import uuid

import pytest


@pytest.fixture
def queue() -> str:
    return f"queue {uuid.uuid4().hex[:8]}"
