#!/usr/bin/env bash
# Runs every test. Those that kill processes wait most of their time, so that all others run beside
# them; what they say follows at the end.
set -uo pipefail
python="$1"
cd "$(dirname "$0")/.."

said="$(mktemp)"
"$python" -m pytest tests/faults >"$said" 2>&1 &
faults=$!
trap 'kill -INT "$faults" 2>/dev/null; wait "$faults"; rm -f "$said"; exit 130' INT TERM

"$python" -m pytest --ignore=tests/faults
others=$?
echo "Waiting for the fault tests ..."
wait "$faults"
code=$?
cat "$said"
rm -f "$said"
exit $((others > code ? others : code))
