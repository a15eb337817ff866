#!/bin/sh
# The geometry chain compared with vectorised numpy: sh tests/bench/chain.sh. Needs python3 with numpy (h5py for the golden cloud);
# without them only the times of bench-chain are printed.
set -eu
B=${B:-build/release}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
golden=${GEODEC_SHARED:-../shared}/golden/ott/smollm2-135m_n8.h5
[ -e "$golden" ] || golden=
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "chain.sh: $python has no numpy; only our own times" >&2
    exec "$B/bench/bench-chain" --threads "${THREADS:-2}"
fi
if [ -n "$golden" ] && ! "$python" -c 'import h5py' 2>/dev/null; then golden=; fi
# shellcheck disable=SC2086
"$python" tests/bench/chain.py "$dir/input.txt" $golden
"$B/bench/bench-chain" --threads "${THREADS:-2}" "$dir/input.txt"
