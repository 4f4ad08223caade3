#!/usr/bin/env bash
# Runs `make test` as on a machine that has none of the optional programs: MongoDB, Redis, RabbitMQ,
# Node and Chromium are hidden in a mount namespace, and the user is not root and has no sudo.
# Fails unless the tests pass and say of each program that some were skipped for it. With arguments
# it runs only the tests that they name, and none may be skipped.
#
# Set-up must be done: a hidden program can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PROGRAMS=(mongod redis-server rabbitmq-server rabbitmqctl epmd node nodejs npm npx
    chromium chromium-browser google-chrome)
readonly FOLDERS=(/usr/lib/rabbitmq) # where the tests look first
readonly SAID=(Chromium MongoDB Node RabbitMQ Redis)

hide() { # $1: a folder for what takes their place
    local name found folder
    touch "$1/empty" # not executable
    for name in "${PROGRAMS[@]}"; do
        while read -r found; do
            mount --bind "$1/empty" "$(realpath "$found")"
        done < <(type -aP "$name" || true)
    done
    for folder in "${FOLDERS[@]}"; do
        [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
    done
}

if [ "${1:-}" = --hidden ]; then
    hide "$2"
    export HOME="$2" NO_COLOR=1
    unset WEBLOOM_TESTS_REQUIRE_ALL
    command=(make --no-print-directory test)
    [ $# = 2 ] || command=(.venv/bin/python -m pytest -p no:cacheprovider --no-skips "${@:3}")
    exec unshare --user --map-user=1000 --map-group=1000 "${command[@]}"
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
code=0
unshare --user --map-root-user --mount bash "$0" --hidden "$folder" "$@" 2>&1 | tee "$folder/output" || code=$?
[ $# = 0 ] || exit "$code"
for name in "${SAID[@]}"; do
    if ! grep -qE "^NOT INSTALLED: .*\b$name \([1-9][0-9]* tests?;" "$folder/output"; then
        echo "No test was skipped because $name is missing: it was not hidden, or no test needs it" >&2
        exit 3
    fi
done
exit "$code"
