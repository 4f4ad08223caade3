"""How long tests wait for something that takes a moment on an idle machine."""

from __future__ import annotations

import os

# Less than the time that a whole test has (`timeout` in pyproject.toml), so that a test which waits
# in vain says for what. `make test-all`, with its larger loads, gives both more time.
PATIENCE_SECONDS = float(os.environ.get("WEBLOOM_TESTS_PATIENCE", "90"))
