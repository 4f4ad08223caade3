from __future__ import annotations

import pytest

from webloom.adapters.mongodb.database import MongoDatabase
from webloom.adapters.mongodb.inventory_store import MongoInventoryStore


@pytest.fixture
def store(mongodb: MongoDatabase) -> MongoInventoryStore:
    return MongoInventoryStore(mongodb)
