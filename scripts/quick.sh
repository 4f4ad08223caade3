#!/usr/bin/env bash
# The inner loop: lint, types, unit tests and the contract suites on SQLite, side by side. $1 is the
# folder with the programs of the virtual environment.
set -uo pipefail
bin="$1"
cd "$(dirname "$0")/.."
said="$(mktemp -d)"
trap 'rm -rf "$said"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

checks=(ruff format types imports ui)
ruff() { "$bin/ruff" check .; }
format() { "$bin/ruff" format --check .; }
types() { "$bin/mypy"; }
imports() { "$bin/lint-imports"; }
ui() { ./scripts/check-ui.sh "$bin/python"; }

one_after_the_other() {
    for check in "${checks[@]}"; do
        "$check" >"$said/$check" 2>&1 || touch "$said/$check.failed"
    done
}

one_after_the_other &
"$bin/python" -m pytest -q -n 3 --dist worksteal tests/unit tests/contracts -k "unit or ((sqlite or fake) and not mongodb)"
code=$?
wait
for check in "${checks[@]}"; do
    if [ -f "$said/$check.failed" ]; then
        cat "$said/$check"
        echo "FAILED: $check"
        code=1
    fi
done
exit "$code"
