from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from webloom.domain.errors import SettingsError
from webloom.parsing.backend_url import shown


@contextmanager
def extra(name: str, url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            f"{shown(url)} needs a library that is not installed ({error.name}): "
            f"pip install 'webloom[{name}]'"
        ) from error
