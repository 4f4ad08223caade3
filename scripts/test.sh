#!/usr/bin/env bash
# Runs every test. Those that kill processes wait most of their time, so that all others run beside
# them; what they say follows at the end. Where one or two of the thousands fail, they are run three
# times more, with nothing beside them: what fails again is broken, and what does not is named.
set -uo pipefail
python="$1"
cd "$(dirname "$0")/.."
caches=.pytest_cache
most_again=2

said="$(mktemp)"
"$python" -m pytest -o cache_dir=$caches/faults --cache-clear tests/faults >"$said" 2>&1 &
faults=$!
trap 'kill -INT "$faults" 2>/dev/null; wait "$faults"; rm -f "$said"; exit 130' INT TERM

"$python" -m pytest -o cache_dir=$caches/others --cache-clear --ignore=tests/faults
others=$?
echo "Waiting for the fault tests ..."
wait "$faults"
code=$?
cat "$said"
rm -f "$said"
trap - INT TERM
code=$((others > code ? others : code))
if [ "$code" -ne 1 ]; then # all passed, or a run broke off
    exit "$code"
fi

mapfile -t failed < <("$python" - $caches/*/v/cache/lastfailed <<'END'
import json, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        print(end="".join(f"{test}\n" for test in json.load(file)))
END
)
if [ "${#failed[@]}" -gt "$most_again" ] || [ "${#failed[@]}" -eq 0 ]; then
    exit "$code"
fi
for time in 1 2 3; do
    echo "Once more, alone ($time of 3): ${failed[*]}"
    "$python" -m pytest -p no:cacheprovider "${failed[@]}" || exit 1
done
echo "FAILED AT FIRST, then passed three times alone; see above, and mend it: ${failed[*]}"
