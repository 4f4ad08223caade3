#!/usr/bin/env bash
# Creates the passwords and keys that compose.yaml needs, once, in the folder $1 (default: secrets,
# beside this script). Never changes existing ones.
#
# Only you can enter the folder (mode 700). The files for containers have mode 444: Compose mounts
# them with the mode they have here, and each program runs as its own user.
set -euo pipefail
umask 077
folder="${1:-$(dirname "$0")/secrets}"

if ! mkdir -m 700 "$folder"; then
    echo "Nothing was changed. If $folder exists already: new passwords would lock Webloom out of" >&2
    echo "databases created with the old ones. To start over, move the folder away." >&2
    exit 1
fi
trap 'rm -rf "$folder"' EXIT # no incomplete set

random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

put() { printf '%s\n' "$2" >"$folder/$1"; }

mongodb="$(random)"
put mongodb_root_password "$(random)"
put mongodb_webloom_password "$mongodb"
put mongodb_key "$(random)"
put webloom_store "mongodb://webloom:$mongodb@mongodb:27017/?replicaSet=rs0&authSource=webloom"

rabbitmq="$(random)"
put rabbitmq_user "default_user = webloom
default_pass = $rabbitmq"
put webloom_broker "amqp://webloom:$rabbitmq@rabbitmq:5672/"

redis="$(random)"
put redis_user "requirepass $redis"
put webloom_broker_import_feed "redis://:$redis@redis:6379/0"

key="wl_$(random)"
put webloom_api_keys "sha256:$(printf '%s' "$key" | sha256sum | cut -d ' ' -f 1)"
chmod 444 "$folder"/*
put api_key "$key" # for you; no container gets it

trap - EXIT
echo "Created $folder. The API key for clients is in its file api_key."
