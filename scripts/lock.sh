#!/usr/bin/env bash
# Writes the lock files: every version with its hashes, no index address. scripts/constraints.txt has
# the floors of packages that come along with others.
set -euo pipefail
uv="$1"
cd "$(dirname "$0")/.."

compile() {
    local out="$1"
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --no-annotate -c scripts/constraints.txt "$@" --output-file "$out"
}

compile requirements.lock pyproject.toml scripts/build-requirements.in --all-extras
compile requirements-dev.lock -c requirements.lock pyproject.toml scripts/build-requirements.in --group dev --all-extras
compile requirements-bench.lock -c requirements-dev.lock pyproject.toml scripts/build-requirements.in --group dev --group bench --all-extras
compile requirements-ui.lock scripts/ui-requirements.in
