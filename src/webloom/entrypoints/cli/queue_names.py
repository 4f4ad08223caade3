from __future__ import annotations

from webloom.domain.errors import SettingsError
from webloom.entrypoints.cli.output import visible
from webloom.settings import Settings


def require_queue(settings: Settings, name: str) -> None:
    """Raises SettingsError for a queue that Webloom does not have: some brokers would make it."""
    if name not in settings.broker_urls:
        raise SettingsError(
            f"--queue: there is no queue {visible(name)}; there are "
            f"{', '.join(settings.broker_urls)}"
        )
