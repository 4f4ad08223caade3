#!/usr/bin/env bash
# Creates the virtual environment $1 with the newest Python at hand, 3.11 or later. Where Debian
# or Ubuntu ships Python without its venv module, installs that package if it may.
set -euo pipefail
venv="$1"

find_python() {
    local name
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$name" ] || continue
        "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        command -v "$name"
        return
    done
    echo "webloom needs Python 3.11 or later and found none." >&2
    echo "Install it (Debian 12, Ubuntu 24.04: apt-get install python3 python3-venv) or name one: make setup PYTHON=/path/to/python3" >&2
    exit 1
}

install_venv_module() {
    local package as_root=()
    package="python$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    echo "$1 comes without venv; installing $package ..."
    if ! { "${as_root[@]}" apt-get install -y -qq "$package" ||
        { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq "$package"; }; } >/dev/null 2>&1; then
        echo "Could not install it. Run: sudo apt-get install $package" >&2
        exit 1
    fi
}

python="$(find_python)"
"$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
"$python" -m venv "$venv"
