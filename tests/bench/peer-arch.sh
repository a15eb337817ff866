#!/bin/bash
# Every architecture compared with llama.cpp: PEER=dir tests/bench/peer-arch.sh [FOLDER]
#
# PEER is a checkout of llama.cpp built with cmake in PEER/build (static libraries, CPU). Writes small seeded F32 models,
# computes the logits of the same 200 random tokens with both programs, and prints their differences: largest
# difference of a logit, root mean square of the logits, positions whose best token differs, mean negative
# log-likelihoods, largest difference for one token.
#
# llama.cpp reads GELU from a table of half-precision floats, which gives a difference of about 1e-3 in gemma2 and gemma3. With
# EXACT_GELU=1 its operators are compiled again without that table, into FOLDER, and used instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${PEER:?set PEER to a built checkout of llama.cpp}"
folder=${1:-build/peer-arch}
profile=${B:-build/release}
mkdir -p "$folder"

make -s "$profile/lib/libgeodec.a"
# shellcheck disable=SC2046 # several words intended
cc -std=c11 -O2 -Ilibcommon -Ilibcommon/core -Ilibcommon/geometry -Ilibcommon/model -Ilibcommon/decode -Itests/unit tests/bench/arch_models.c "$profile/lib/libgeodec.a" \
   -o "$folder/arch_models" $(pkg-config --libs hdf5-serial jansson libpcre2-8 nettle sqlite3 openblas) -lgsl -lpthread -lm

libraries=("$PEER/build/src/libllama.a" "$PEER/build/ggml/src/libggml.a" "$PEER/build/ggml/src/libggml-cpu.a"
           "$PEER/build/ggml/src/libggml-base.a")
cc -std=c11 -O2 -I"$PEER/include" -I"$PEER/ggml/include" -c tests/bench/peer_logits.c -o "$folder/peer_logits.o"
objects=("$folder/peer_logits.o")
if [ -n "${EXACT_GELU:-}" ]; then
    cpu=$PEER/ggml/src/ggml-cpu
    mkdir -p "$folder/gelu"
    sed 's/^#define GGML_GELU_FP16//' "$cpu/vec.h" > "$folder/gelu/vec.h"
    cp "$cpu/ops.cpp" "$folder/gelu/ops.cpp" # in the same folder, so that it is included
    c++ -std=c++17 -O1 -D_GNU_SOURCE -I"$PEER/ggml/include" -I"$PEER/ggml/src" -I"$cpu" -c "$folder/gelu/ops.cpp" -o "$folder/ops.o"
    objects+=("$folder/ops.o")
fi
c++ "${objects[@]}" "${libraries[@]}" -o "$folder/peer_logits" -fopenmp -lpthread -ldl -lm

for name in $("$folder/arch_models" write "$folder"); do
    "$folder/peer_logits" "$folder/$name.gguf" "$folder/$name.tokens" "$folder/$name.logits"
done
"$folder/arch_models" compare "$folder"
