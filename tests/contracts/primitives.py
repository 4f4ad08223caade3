from __future__ import annotations

from dataclasses import dataclass

from webloom.domain.lease import Lease
from webloom.stores.primitives import Documents, Pairs


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """Over the documents of locks, as a sample."""

    documents: Documents[Lease]
    pairs: Pairs[Lease, Lease]
