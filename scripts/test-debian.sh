#!/usr/bin/env bash
# Runs `make test` in a new Debian system that has Python 3.13, make and nothing else of ours: the
# latest Python we support, and a machine that has never seen this project. Needs root and
# mmdebstrap; takes a few hundred megabytes in a temporary folder, and removes them.
#
# From this machine it takes the network settings (name servers, certificates, settings of pip and
# npm) and, if it runs there, mongod, which Debian doesn't package.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly RELEASE=trixie
readonly PACKAGES=python3,python3-venv,make,ca-certificates
readonly SETTINGS=(/etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/npmrc
    "$HOME/.npmrc" "$HOME/.pip" "$HOME/.config/pip")

# In namespaces of its own: mounts and processes end with it.
if [ "${1:-}" = --inside ]; then
    root="$2"
    mount --make-rprivate /
    for folder in dev sys; do mount --rbind "/$folder" "$root/$folder"; done
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    mongod="$(type -P mongod || true)"
    export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    chroot "$root" make --no-print-directory -C /webloom .venv/.dev
    chroot "$root" /webloom/scripts/test-servers.sh .venv
    if [ -n "$mongod" ]; then
        install "$mongod" "$root/usr/local/bin/mongod"
        if chroot "$root" mongod --version >/dev/null 2>&1; then
            export WEBLOOM_TESTS_REQUIRE_ALL=1 # everything is there, so nothing may be left out
        else
            rm "$root/usr/local/bin/mongod"
        fi
    fi
    exec chroot "$root" make --no-print-directory -C /webloom test
fi

if [ "$(id -u)" != 0 ] || ! type -P mmdebstrap >/dev/null; then
    echo "To test on a new Debian, run this as root and install mmdebstrap (apt-get install mmdebstrap)" >&2
    exit 1
fi
root="$(mktemp -d)"
trap 'rm -rf --one-file-system "$root"' EXIT
echo "Making a Debian $RELEASE system ..."
mmdebstrap --quiet --variant=apt --include="$PACKAGES" "$RELEASE" "$root"
for setting in "${SETTINGS[@]}"; do
    [ -e "$setting" ] || continue
    target="$root${setting/#$HOME//root}"
    mkdir -p "$(dirname "$target")"
    cp -rL --no-target-directory "$setting" "$target"
done
mkdir "$root/webloom"
git ls-files -z | xargs -0 cp --parents --target-directory="$root/webloom"
unshare --mount --pid --fork bash "$0" --inside "$root"
