"""How long tests wait for something that takes a moment on an idle machine."""

from __future__ import annotations

# Less than the time that a whole test has (`timeout` in pyproject.toml), so that a test which waits
# in vain says for what.
TIMEOUT_SECONDS = 90.0
