"""Puts the admin UI into the package when a wheel or a source archive is made, and into a wheel the
list of what it is built from (CycloneDX, in .dist-info/sboms)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "scripts"))
import build_ui
import sbom

SBOM = "webloom.cdx.json"


class AdminUiHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node is fetched only when there is something to build."""
        return [build_ui.NODE] if build_ui.is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_ui.main([])
        if self.target_name == "wheel" and version == "standard":
            sbom.write(Path(self.root, SBOM))
            build_data["sbom_files"].append(SBOM)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        Path(self.root, SBOM).unlink(missing_ok=True)
