#!/usr/bin/env bash
# Runs `make test` as on a machine that has none of the optional programs: MongoDB, Redis, RabbitMQ,
# Node and Chromium are hidden in a mount namespace, and the user is not root and has no sudo.
# Fails unless the tests pass and say of each program that some were skipped for it.
#
# Set-up must be done: a hidden program can't be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PROGRAMS=(mongod redis-server rabbitmq-server rabbitmqctl epmd node nodejs npm npx
    chromium chromium-browser google-chrome)
readonly FOLDERS=(/usr/lib/rabbitmq) # where the tests look first
readonly SAID=(Chromium MongoDB Node RabbitMQ Redis)

hide() {
    local empty name found folder
    empty="$(mktemp)" # not executable
    for name in "${PROGRAMS[@]}"; do
        while read -r found; do
            mount --bind "$empty" "$(realpath "$found")"
        done < <(type -aP "$name" || true)
    done
    for folder in "${FOLDERS[@]}"; do
        [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
    done
}

if [ "${1:-}" = --hidden ]; then
    hide
    HOME="$(mktemp -d)" exec unshare --user --map-user=1000 --map-group=1000 make --no-print-directory test
fi

output="$(mktemp)"
trap 'rm -f "$output"' EXIT
code=0
unshare --user --map-root-user --mount bash "$0" --hidden 2>&1 | tee "$output" || code=$?
for name in "${SAID[@]}"; do
    if ! grep -qE "^NOT INSTALLED: .*\b$name \([1-9][0-9]* tests" "$output"; then
        echo "No test was skipped for want of $name: it was not hidden, or no test needs it" >&2
        exit 3
    fi
done
exit "$code"
