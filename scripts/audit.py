"""Checks every locked version, image and version floor for known vulnerabilities.

    lock files -> osv.dev, if it answers within seconds -> or scripts/known-vulnerable.toml

The list in the repository is compared in any case; it also has what osv.dev is not asked for: the
images and the floors. `--offline` uses the list alone. Ends with 1 if anything is found, and says
how it was checked and how old the list is. Arguments name files to check instead of the
repository's.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import locked
from locked import Locked

LIST = Path(__file__).with_name("known-vulnerable.toml")
OSV = "https://api.osv.dev/v1/querybatch"
SECONDS = 5  # for osv.dev: the build does not depend on it
AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class Advisory:
    ecosystem: str
    package: str
    affected: str  # ">=1.0,<1.2": the last bound is the version that fixes it
    id: str
    source: str

    @property
    def fixed(self) -> str:
        return self.affected.rpartition("<")[2]

    def affects(self, version: str) -> bool:
        return all(_holds(version, bound) for bound in self.affected.split(","))


@dataclass(frozen=True, kw_only=True)
class Found:
    package: Locked
    id: str
    fixed: str | None = None
    source: str

    def __str__(self) -> str:
        version = f"{'allows ' if self.package.is_floor else ''}{self.package.version}"
        fixed = f", fixed in {self.fixed}" if self.fixed else ""
        return (
            f"{self.package.where}: {self.package.name} {version}: {self.id}{fixed}: {self.source}"
        )


def _key(version: str) -> tuple[tuple[int, ...], bool]:
    """For comparison: its numbers, then whether it is a release and not a preview of one."""
    release = re.match(r"\d+(\.\d+)*", version)
    if release is None:
        raise SystemExit(f"{version!r} is not a version")
    numbers = [int(part) for part in release[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = version[release.end() :]
    return tuple(numbers), not rest or rest.startswith((".post", "+"))


def _holds(version: str, bound: str) -> bool:
    if bound.startswith(">="):
        return _key(version) >= _key(bound[2:])
    if bound.startswith("<"):
        return _key(version) < _key(bound[1:])
    raise SystemExit(f"{bound!r} is not >= or < and a version")


def load(path: Path) -> tuple[datetime.date, list[Advisory], set[str]]:
    """The list's date, what it knows, and the ids that do not concern this project."""
    advisories = tomllib.loads(path.read_text(encoding="utf-8"))
    known = [
        Advisory(
            ecosystem=each["ecosystem"],
            package=each["package"],
            affected=affected.replace(" ", ""),
            id=each["id"],
            source=each["source"],
        )
        for each in advisories["vulnerable"]
        for affected in each["affected"]
    ]
    return advisories["date"], known, {each["id"] for each in advisories.get("accepted", [])}


def by_list(packages: Iterable[Locked], known: Iterable[Advisory]) -> Iterator[Found]:
    listed: dict[tuple[str, str], list[Advisory]] = {}
    for each in known:
        listed.setdefault((each.ecosystem, each.package), []).append(each)
    for package in packages:
        for each in listed.get((package.ecosystem, package.name), []):
            if each.affects(package.version):
                yield Found(package=package, id=each.id, fixed=each.fixed, source=each.source)


def by_osv(packages: list[Locked], address: str) -> list[Found]:
    """Raises OSError or ValueError if osv.dev does not answer, or not as it should."""
    checked = [each for each in packages if each.ecosystem != "image" and not each.is_floor]
    found = []
    for start in range(0, len(checked), AT_ONCE):
        some = checked[start : start + AT_ONCE]
        queries = [
            {"package": {"ecosystem": each.ecosystem, "name": each.name}, "version": each.version}
            for each in some
        ]
        answers = _ask(address, {"queries": queries})["results"]
        for package, answer in zip(some, answers, strict=True):
            for each in answer.get("vulns", []):
                page = f"https://osv.dev/vulnerability/{each['id']}"
                found.append(Found(package=package, id=each["id"], source=page))
    return found


def _ask(address: str, body: object) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the caller's address
        address, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        return json.load(answer)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for people


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--osv", metavar="URL", default=OSV, help="its querybatch, or a mirror's")
    parser.add_argument("--offline", action="store_true")
    options = parser.parse_args()
    if options.files:
        packages = [each for path in options.files for each in locked.read(path, str(path))]
    else:
        packages = locked.everything()
    date, known, accepted = load(options.list)
    found = list(by_list(packages, known))
    way = "not asked"
    if not options.offline:
        try:
            found += by_osv(packages, options.osv)
            way = "asked"
        except (OSError, ValueError, KeyError) as error:
            way = f"not reached ({type(error).__name__})"
    lines = sorted({str(each) for each in found if each.id not in accepted})
    for line in lines:
        say(line)
    age = (datetime.datetime.now(datetime.UTC).date() - date).days
    say(
        f"{'FAILED' if lines else 'Passed'}: {len(packages)} locked versions, images and floors; "
        f"osv.dev was {way}; the list has {len(known)} entries and is of {date}, {age} days ago"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
