#!/usr/bin/env bash
# Builds the container image of deploy/Dockerfile and runs compose.yaml's processes from it, against
# real servers on loopback. $1 is the Python of the virtual environment. Needs root, mmdebstrap and
# buildah; takes a few minutes and about two gigabytes in a temporary folder, and removes them.
#
# No registry of images is needed: a small Debian with Python stands in for the base image, under
# its name. From this machine it takes the settings that pip and npm need for the build (settings
# files, certificates, variables); they are in no file of the project, and the image is not kept.
set -euo pipefail
cd "$(dirname "$0")/.."
python="$1"
readonly RELEASE=bookworm # of the base image
readonly PACKAGES=ca-certificates,python3,python3-venv,python-is-python3
readonly SETTINGS=(/etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/npmrc
    "$HOME/.npmrc" "$HOME/.pip" "$HOME/.config/pip")
readonly VARIABLES='^(PIP_|NPM_CONFIG_|npm_config_|NODE_EXTRA_CA_CERTS|SSL_CERT_|https?_proxy|HTTPS?_PROXY|no_proxy|NO_PROXY)'

# In namespaces of its own, without servers of others: mounts, processes and the network, which
# is a loopback interface, end with it.
if [ "${2:-}" = --inside ]; then
    work="$3"
    mount --make-rprivate /
    mount -t proc proc /proc
    checkout="$PWD"
    mkdir "$work/checkout"
    mount --bind "$checkout" "$work/checkout"
    mount -t tmpfs tmpfs /tmp
    case "$checkout" in
    /tmp/*) # which is hidden now
        mkdir -p "$checkout"
        mount --bind "$work/checkout" "$checkout"
        cd "$checkout"
        ;;
    esac
    echo '127.0.0.1 localhost mongodb rabbitmq redis' >"$work/hosts" # compose.yaml's names
    mount --bind "$work/hosts" /etc/hosts
    ip link set lo up
    exec env PYTHONPATH=tests "$python" scripts/run_image.py "$work"
fi

missing() {
    echo "The container image is not tested: $1" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || missing "it needs root"
for program in mmdebstrap buildah ip; do
    type -P "$program" >/dev/null && continue
    package="${program/#ip/iproute2}"
    echo "Installing $package ..."
    { apt-get -qq -y --no-install-recommends install "$package" ||
        { apt-get -qq update && apt-get -qq -y --no-install-recommends install "$package"; }; } >/dev/null 2>&1 ||
        missing "$program is not there, and apt-get could not install $package"
done

work="$(mktemp -d -p /var/tmp webloom-image.XXXXXX)" # not in /tmp, which is another one inside
driver=overlay
bud() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver "$driver" "$@"; }
clean() {
    bud umount --all >/dev/null 2>&1 || true
    bud rm --all >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
bud info >/dev/null 2>&1 || driver=vfs # slower, and works on every file system

base="$(sed -n 's/^FROM \(\S*\).*/\1/p' deploy/Dockerfile | sort -u)"
[ "$(wc -l <<<"$base")" = 1 ] || missing "deploy/Dockerfile has several base images"
echo "Making a stand-in for $base ..."
mmdebstrap --quiet --variant=minbase --include="$PACKAGES" "$RELEASE" "$work/base.tar"
container="$(bud from scratch)"
bud add --quiet "$container" "$work/base.tar" /
rm "$work/base.tar"
for setting in "${SETTINGS[@]}"; do
    [ ! -e "$setting" ] || bud add --quiet "$container" "$(readlink -f "$setting")" "${setting/#$HOME//root}"
done
bud config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
while read -r variable; do bud config --env "$variable" "$container"; done < <(env | grep -E "$VARIABLES" || true)
bud commit --quiet --rm "$container" "docker.io/library/$base" >/dev/null

echo "Building deploy/Dockerfile ..."
started=$SECONDS
if ! bud build --pull-never --isolation chroot --format docker --file deploy/Dockerfile \
    --tag webloom:test . >"$work/build.log" 2>&1; then
    tail -n 40 "$work/build.log" >&2
    echo "The container image was not built, as it says above" >&2
    exit 1
fi
echo "Built the image in $((SECONDS - started)) s"
bud inspect --type image webloom:test >"$work/image.json"
container="$(bud from --pull-never webloom:test)"
ln -s "$(bud mount "$container")" "$work/root"
unshare --mount --net --pid --fork --kill-child bash "$0" "$python" --inside "$work"
