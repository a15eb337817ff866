#!/bin/sh
# Streamed ternary experts: make check-ternary-matrix. Trains small PERSPECTIVE models, builds their stores, and writes TSV to results/ternary:
#   edges.tsv   how alike neighbours are, for each model; numerics.tsv  bits a token with each form of --ternary
#   matrix.tsv  streamed against resident, token for token (bench-trits); any difference is status 1
#   disk.tsv    a slow disk, and the same without look-ahead, without differences, without a cache; beside the closed form
#   flips.tsv   single-bit flips of a tiny store
# Environment: B; WORK, where finished models stay; TOKENS, SLOTS (one run each), PARTS (edges matrix disk flips); GEODEC_SHARED for the texts.
set -eu
B=${B:-build/release}
WORK=${WORK:-build/ternary-matrix}
TOKENS=${TOKENS:-2000}
SLOTS=${SLOTS:-4 24 96}
PARTS=${PARTS:-edges disk flips matrix}
bin=$B/bin
texts=${GEODEC_SHARED:-../shared}/text
out=results/ternary
text=$texts/tinystories-a.txt held=$texts/stories260K-samples-a.txt
if [ ! -e "$text" ] || [ ! -e "$held" ]; then
    echo "trits.sh: no texts in $texts (GEODEC_SHARED)" >&2
    exit 1
fi
mkdir -p "$WORK" "$out"
[ -e "$WORK/v.gguf" ] || "$bin/geodec-vocab" --size 320 -q -o "$WORK/v.gguf" "$text"

# train NAME OPTIONS: a model and its store.
train() {
    name=$1
    shift
    [ -e "$WORK/$name.gguf" ] || "$bin/geodec-train" --arch perspective --text "$text" --held-out "$held" --vocab "$WORK/v.gguf" --batch 4 --length 64 \
        --period 4 --type f16 -q -t 1 "$@" -o "$WORK/$name.gguf"
    [ -e "$WORK/$name.trits/experts.table" ] || "$bin/geodec-ternary" build "$WORK/$name.gguf" --differences -q -o "$WORK/$name.trits"
}
shape='--lattice 4,2,2 --d-model 128 --rank 32 --layers 8 --heads 4 --kv-heads 1 --ff 256 --ctx 128'
# shellcheck disable=SC2086
models() {
    train post $shape --route angle --route-at post --steps 4
    train pre $shape --route mod --route-at pre --steps 120
    train near $shape --route angle --route-at post --steps 120 --neighbours 0.5
    train tiny --lattice 2,1,1 --d-model 16 --rank 4 --layers 4 --heads 2 --kv-heads 1 --ff 16 --ctx 64 --route angle --route-at post --steps 4
}

edges() {
    printf 'model\tp\tbytes\tshare\tfloor\tzeros\tp_shifted\tp_independent\n'
    for m in post pre near; do
        "$bin/geodec-ternary" edges -q "$WORK/$m.trits" | awk -F '\t' -v OFS='\t' -v m=$m '
            $3 == "all" { n++; for (i = 4; i <= 11; i++) s[i] += $i }
            END { for (i = 4; i <= 11; i++) s[i] /= n; print m, s[4], s[5], s[6], s[7], s[8], s[10], s[11] }'
    done
}

# Bits a token of held-out text with each form: the price of --ternary add and int8.
numerics() {
    printf 'model\tform\tbits_byte\n'
    for m in post pre near; do
        for form in gguf exact add int8; do
            if [ $form = gguf ]; then set -- --model "$WORK/$m.gguf"; else set -- --model "$WORK/$m.trits" --ternary $form --experts slots=128; fi
            "$bin/geodec-perplexity" "$@" --window 128 --windows 40 --force --json "$WORK/ppl.json" -q "$held" >"$WORK/ppl.txt"
            sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' "$WORK/ppl.json" | head -n 1 | awk -v OFS='\t' -v m=$m -v f=$form '{ print m, f, $1 }'
        done
    done
}

matrix() {
    for m in pre post; do
        for s in $SLOTS; do
            "$B/bench/bench-trits" "$WORK/$m.trits" --gguf "$WORK/$m.gguf" --tokens "$TOKENS" --slots "$s" --trace "$WORK/$m-$s.trace" >"$WORK/row.tsv"
            [ -n "${head-}" ] || { head=1; sed -n 's/^slots/model\tslots/p' "$WORK/row.tsv"; }
            sed -n "2,\$s/^/$m\t/p" "$WORK/row.tsv"
        done
    done
}

# One run on a slow disk: NAME SETTINGS. The line of forecast follows the name and the decisions.
disk_run() {
    "$bin/geodec-decode" --model "$WORK/near.trits" --artifacts none --draft none --prompt 'Once upon a time' --max-tokens 200 --min-tokens 200 --threads 1 \
        --io-throttle "$MBS" --experts "$2,report=$WORK/disk.json" -q --force >"$WORK/disk.txt"
    cmp -s "$WORK/disk.txt" "$WORK/disk-first.txt" || { [ "$1" = all ] && cp "$WORK/disk.txt" "$WORK/disk-first.txt"; } || { echo "trits.sh: $1: another text" >&2; exit 1; }
    "$bin/geodec-experts" forecast "$WORK/disk.json" | awk -F '\t' -v OFS='\t' -v n="$1" -v d="$(sed -n 's/.*"read_differences": *\([0-9]*\).*/\1/p' "$WORK/disk.json")" \
        -v c="$(sed -n 's/.*"read_cheaper": *\([0-9]*\).*/\1/p' "$WORK/disk.json")" 'NR == 2 { print n, d, c, $4, $5, $6, $7, $10, $11, 1000 / $12, 1000 / $13, 1000 / $15, 1000 / $16 }'
}
disk() {
    rm -f "$WORK/disk-first.txt"
    printf 'run\tdifferences\tcheaper\thit\tahead\twaste\tmb_token\tcompute_ms\tstall_ms\tms_token\tno_overlap\tlook_ahead\twall\n'
    disk_run all slots=24
    disk_run 'no look-ahead' slots=24,ahead=none
    disk_run 'no differences' slots=24,differences=off
    disk_run 'no cache' slots=4
    disk_run 'differences always' slots=24,differences=always
}
MBS=${MBS:-1}

models
for part in $PARTS; do
    case $part in
        edges) edges >"$out/edges.tsv"; numerics >"$out/numerics.tsv" ;;
        disk) disk >"$out/disk.tsv" ;;
        flips) "$B/bench/bench-trits" "$WORK/tiny.trits" --flips "${FLIPS:-1}" >"$out/flips.tsv" ;;
        matrix) matrix >"$out/matrix.tsv" ;;
    esac
done
