#!/usr/bin/env bash
# Everything that `make test` leaves out: second topologies (replica sets, quorum queues), long
# loads, new examples for the property tests, the container image, and another Python on a new Debian.
# $1 is the Python of the virtual environment.
set -uo pipefail
python="$1"
cd "$(dirname "$0")/.."
seed="${SEED:-$RANDOM$RANDOM}"
code=0

echo "The property tests take new examples; to get these again: make test-all SEED=$seed"
WEBLOOM_TESTS_EXAMPLES=new WEBLOOM_TESTS_REQUIRE_ALL=1 \
    "$python" scripts/run_tests.py -m "thorough or not thorough" --hypothesis-seed="$seed" || code=1
./scripts/test-image.sh "$python" || code=1
./scripts/test-debian.sh || code=1
exit "$code"
