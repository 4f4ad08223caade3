#!/usr/bin/env bash
# Gets the servers that the tests start privately, as far as this machine allows: Debian packages as
# root or by sudo without a password, and the Node packages of tests/node. $1 is the virtual
# environment, where the marks of what is done are kept.
#
# Never fails, and never leaves a service running: while packages are installed, Debian's
# policy-rc.d forbids to start any, and services that came with them are disabled for the next boot.
# A line says what could not be installed and why; the tests say at their end what they left out.
set -uo pipefail
venv="$1"
cd "$(dirname "$0")/.." || exit 0
readonly POLICY=/usr/sbin/policy-rc.d
readonly OURS='# made by the tests of webloom while they install packages; can be removed'

has() {
    case "$1" in
    rabbitmq-server) [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || [ -x "$(type -P rabbitmq-server)" ] ;;
    chromium) [ -x "$(type -P chromium || type -P chromium-browser || type -P google-chrome)" ] ;;
    *) [ -x "$(type -P "$1")" ] ;;
    esac >/dev/null 2>&1
}

packages_missing() {
    has redis-server || echo redis-server
    has rabbitmq-server || echo rabbitmq-server
    has node || echo nodejs
    has npm || echo npm
    has chromium || echo chromium
    has systemd-analyze || echo systemd # its tools; nothing of it is started
}

# As root, in a process of its own: install the packages $@ and start none of their services.
install_packages() {
    set -e
    if [ -e "$POLICY" ] && ! grep -qxF "$OURS" "$POLICY"; then
        local answer=0
        "$POLICY" redis-server start || answer=$?
        [ "$answer" = 101 ] || exit 3 # a local policy, and it would start them
    else
        trap 'rm -f "$POLICY"' EXIT
        printf '#!/bin/sh\n%s\nexit 101\n' "$OURS" >"$POLICY"
        chmod 755 "$POLICY"
    fi
    export DEBIAN_FRONTEND=noninteractive
    local before unit name status=0
    before="$(services)"
    apt install "$@" || {
        apt update || true
        for name; do apt install "$name" || status=1; done
    }
    for unit in $(comm -13 <(echo "$before") <(services)); do
        systemctl disable "$unit" || update-rc.d "${unit%.*}" disable || true
    done
    return "$status"
}

apt() {
    apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}

services() {
    find /lib/systemd/system /usr/lib/systemd/system -maxdepth 1 \
        \( -name '*.service' -o -name '*.socket' -o -name '*.timer' \) -printf '%f\n' 2>/dev/null |
        grep -v '@' | sort -u
}

if [ "${2:-}" = --install ]; then
    install_packages "${@:3}" >/dev/null 2>&1
    exit
fi

could_not() { echo "Could not install $1: $2"; }

read -r -d '' -a wanted < <(packages_missing)
if [ "${#wanted[@]}" -gt 0 ]; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    if ! has apt-get; then
        could_not "${wanted[*]}" "this machine has no apt-get"
    elif [ "${#as_root[@]}" -gt 0 ] && ! sudo -n true 2>/dev/null; then
        could_not "${wanted[*]}" "it needs root, or sudo without a password"
    else
        echo "Installing ${wanted[*]} for the tests; no service is started ..."
        "${as_root[@]}" bash "$PWD/scripts/test-servers.sh" "$venv" --install "${wanted[@]}"
        case $? in
        0) ;;
        3) could_not "${wanted[*]}" "$POLICY would let the packages start their services" ;;
        *) could_not "$(packages_missing | xargs)" "apt-get failed" ;;
        esac
    fi
fi

# A mongod that installs itself at its first call does so now, not inside a test.
if has mongod && [ "$(type -P mongod)" != "$(cat "$venv/.mongod" 2>/dev/null)" ]; then
    mongod --version >/dev/null 2>&1 && type -P mongod >"$venv/.mongod"
fi

# By the lock, with its hashes. Not by `npm ci`: it refuses a lock that lacks optional packages for
# other systems, and not every registry has them.
lock="$(cksum <tests/node/package-lock.json)"
if has npm && { ! [ -d tests/node/node_modules ] || [ "$lock" != "$(cat "$venv/.test-node" 2>/dev/null)" ]; }; then
    echo "Installing the Node packages of tests/node ..."
    if npm install --prefix tests/node --no-save --silent --ignore-scripts --no-audit --no-fund \
        --fetch-retries=1 --fetch-timeout=60000 >/dev/null 2>&1; then
        echo "$lock" >"$venv/.test-node"
    else
        could_not "the Node packages of tests/node" "npm failed"
    fi
fi
exit 0
