#!/bin/bash
# Makes the goldens of this folder: PEER=dir tests/golden/make/make.sh [FULL]
#
# PEER is a checkout of llama.cpp built with cmake in PEER/build (shared libraries, CPU, generic instructions). FULL is the
# folder golden/ott of the full set of the published harness's figures; without it that subset is unchanged. Needs
# python3 with numpy, and h5py for FULL. `make check` does not run this.
#
# llama.cpp reads GELU from a table of half-precision floats. Its operators are compiled again without the table; with them
# gemma must agree with the float64 program as closely as the other models. The goldens have the values of the unchanged peer.
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${PEER:?set PEER to a built checkout of llama.cpp}"
make=tests/golden/make
out=tests/golden
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

cc -std=c11 -O2 -Wall -I"$PEER/include" -I"$PEER/ggml/include" -c $make/peer.c -o "$build/peer.o"
libraries=("-L$PEER/build/bin" -lllama -lggml -lggml-cpu -lggml-base "-Wl,-rpath,$PEER/build/bin" -lm)
cc "$build/peer.o" "${libraries[@]}" -o "$build/peer"
cpu=$PEER/ggml/src/ggml-cpu
sed 's/^#define GGML_GELU_FP16//' "$cpu/vec.h" > "$build/vec.h"
cp "$cpu/ops.cpp" "$build/ops.cpp" # in the folder of that vec.h, so that it is the one included
c++ -std=c++17 -O1 -D_GNU_SOURCE -I"$PEER/ggml/include" -I"$PEER/ggml/src" -I"$cpu" -c "$build/ops.cpp" -o "$build/ops.o"
c++ "$build/peer.o" "$build/ops.o" "${libraries[@]}" -fopenmp -o "$build/peer-gelu"

"${B:-build/release}/bin/geodec-corpus" --quiet --force --seed 20260001 --first 70000 --stories 40 --control-stories 0 -o $out/text/stories.txt
$python $make/models.py $out/models
$python $make/goldens.py "$build/peer" $out/models/*.gguf data/model/*.gguf $out/llama | tee "$build/table"
echo "with exact GELU:"
EXACT_GELU=1 $python $make/goldens.py "$build/peer-gelu" $out/models/*-gemma*.gguf "$build/gelu"
$python $make/pretoken.py "$build/peer" libcommon/model/tokenizer/pretoken.c $out/tokens
$python $make/marked.py "$build/peer" $out/tokens
if [ $# -gt 0 ]; then $python $make/published.py "$1" $out/published; fi
