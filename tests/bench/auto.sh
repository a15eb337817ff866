#!/bin/sh
# The scheduler compared with the best of its drafters, for models with drafting artifacts and for texts:
# tests/bench/auto.sh "TEXT .." MODEL.gguf=DIR [MODEL.gguf=DIR ..]   (ARITHMETIC="exact fast", ROUNDS=9, PROMPTS=6 in the environment)
# DIR has flowmap.h5 (tests/bench/flowmap.sh, geodec-bake). Prints the table of bench-auto with the arithmetic before
# it; a setting takes from some seconds to half a minute. Needs build/release/bench/bench-auto (make build/release/bench/bench-auto).
set -eu
[ $# -ge 2 ] || { echo "usage: auto.sh 'TEXT ..' MODEL.gguf=DIR .." >&2; exit 2; }
texts=$1
shift
bench=${B:-build/release}/bench/bench-auto
printf 'arithmetic\tmodel\ttext\tdrafter\tspeed\ttokens_per_pass\tasks\tin_drafts\toutside\n'
for pair; do
    for arithmetic in ${ARITHMETIC:-exact fast}; do
        for text in $texts; do
            "$bench" "${pair%%=*}" "${pair#*=}" "$text" --arithmetic "$arithmetic" --rounds "${ROUNDS:-9}" --prompts "${PROMPTS:-6}" |
                sed "s/^/$arithmetic	/"
        done
    done
done
