"""The settings in force, without secrets."""

from __future__ import annotations

import msgspec

from webloom.parsing.backend_url import shown
from webloom.settings import FROM_FILE, Settings

ADDRESSES = frozenset({
    "store", "broker", "broker_metadata_queue", "broker_import_feed", "broker_storage_agent",
})  # fmt: skip


class SettingResponse(msgspec.Struct, kw_only=True, rename="camel"):
    name: str  # of the environment variable
    value: str  # without secrets
    is_default: bool
    wants: str


def settings_in_force(settings: Settings) -> list[SettingResponse]:
    return [
        SettingResponse(
            name=str(field.alias),
            value=_shown(settings, name),
            is_default=getattr(settings, name) == field.default,
            wants=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]


def _shown(settings: Settings, name: str) -> str:
    """Hashes of keys are secret, too: they allow offline guessing."""
    value = getattr(settings, name)
    if name == "api_key_hashes":
        return f"{len(value)} {'key' if len(value) == 1 else 'keys'}" if value else ""
    if name in ADDRESSES:
        address = _address(settings, name)
        return FROM_FILE if address in _from_files(settings) else shown(address)
    if str(Settings.model_fields[name].alias) in settings.from_files:
        return FROM_FILE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return str(value)


def _from_files(settings: Settings) -> set[str | None]:
    """Addresses that come from files; one may be in force under several names."""
    fields = ((name, str(Settings.model_fields[name].alias)) for name in ADDRESSES)
    return {getattr(settings, name) for name, alias in fields if alias in settings.from_files}


def _address(settings: Settings, name: str) -> str:
    """The address in force, chosen or default."""
    if name == "store":
        return settings.store_url
    queues = {
        "broker_metadata_queue": "metadata_queue",
        "broker_import_feed": "import-feed",
        "broker_storage_agent": settings.input_queue,
    }
    if name in queues:
        return settings.broker_urls[queues[name]]
    return settings.broker or settings.embedded_url
