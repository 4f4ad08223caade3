"""What changedetection.io does to find a price: its extractor of metadata, as it was installed.

Only that module is loaded, from the package that `make bench` installs without what it depends on.
Stand-ins, which cost less than the originals, take the place of its logger and of the class that
it reads amounts with.
"""

import re
import sys
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = "changedetectionio"
_MODULE = "processors/restock_diff/pure_python_extractor.py"
_STAND_IN = "bench_changedetection"


class _Logger:
    def _say_nothing(self, _: str) -> None: ...

    trace = debug = _say_nothing


class _Restock(dict[str, Any]):
    def parse_currency(self, raw_value: str) -> float | None:
        digits = re.sub(r"[^\d.-]", "", raw_value.replace(",", "."))
        return float(digits) if digits else None


def load_metadata_path() -> Callable[[str], dict[str, Any]]:
    """HTML -> price, currency and availability, as far as it finds them."""
    found = find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("changedetection.io is not installed; `make bench` installs it")
    package = ModuleType(_STAND_IN)
    package.__path__ = []
    package.Restock = _Restock  # type: ignore[attr-defined]  # what the real package has
    loguru = ModuleType("loguru")
    loguru.logger = _Logger()  # type: ignore[attr-defined]  # as above
    sys.modules |= {_STAND_IN: package, "loguru": loguru}
    path = Path(next(iter(found.submodule_search_locations))) / _MODULE
    spec = spec_from_file_location(f"{_STAND_IN}.extractor", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["loguru"]

    def read(html: str) -> dict[str, Any]:
        price: dict[str, Any] = module.query_price_availability(
            module.extract_metadata_pure_python(html)
        )
        return price

    return read
