#!/usr/bin/env bash
# The inner loop: lint and types beside the unit tests and the contract suites on SQLite. $1 is the
# Python of the virtual environment.
set -uo pipefail
python="$1"
cd "$(dirname "$0")/.."
lint_output="$(mktemp)"
trap 'rm -f "$lint_output"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

make --no-print-directory lint >"$lint_output" 2>&1 &
lint=$!
"$python" -m pytest -q -n 5 --dist worksteal tests/unit tests/contracts \
    -m "not thorough and not on_server" -k "unit or sqlite or fake"
code=$?
if ! wait "$lint"; then
    cat "$lint_output"
    echo "FAILED: make lint"
    code=1
fi
exit "$code"
