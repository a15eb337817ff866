#!/usr/bin/env bats
# The experiment of integer arithmetic: the figures of the paper by its own arithmetic, configurations that change no bit, results over builds;
# what is missing reads "not measured".

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export R="$BATS_FILE_TMPDIR/r" EVERYWHERE_TABLE="$BATS_FILE_TMPDIR/everywhere.tsv"
    # one result in integers, several in floats, of which one build failed
    {
        printf 'system\tmodel\ttokens\tcompiler\tflags\tarchitecture\tset\thash\tresult\n'
        for set in scalar avx2; do
            for compiler in gcc clang; do
                printf 'integer\tm1\t256\t%s\t-O2\tx86_64\t%s\taa\tsame\n' $compiler $set
                printf 'exact\tm1\t256\t%s\t-O2\tx86_64\t%s\t%s\tdiffers\n' $compiler $set $set
            done
        done
        # the same builds with fewer tokens, and a build with two results
        printf 'integer\tm1\t24\tgcc\t-O2\tx86_64\tavx2\tbb\tsame\nexact\tm1\t256\tclang\t-O2\tx86_64\tavx2\tcc\tdiffers\n'
        printf 'integer\tm1\t24\tgcc\t-O2\ts390x\tscalar\tbb\tsame\nexact\tm1\t256\tgcc\t-O0\tx86_64\tscalar\t-\tskipped\n'
    } > "$EVERYWHERE_TABLE"
    make -s QUICK=1 R="$R" EVERYWHERE_TABLE="$EVERYWHERE_TABLE" INTEGER='WINDOWS=3 ROUNDS=1 NEW_TOKENS=40' INTEGER_SCORES='256 1024 1' \
        INTEGER_MODELS='nowhere/absent.gguf nowhere/absent.txt' \
        INTEGER_CODES='--codes q8_0,q4_0,h63,v1,klt/pre --calibration 512 --tokens 256 --replicates 50' integer > "$BATS_FILE_TMPDIR/log" 2>&1 ||
        { cat "$BATS_FILE_TMPDIR/log"; false; }
}

setup() {
    t=$R/integer
}

# cell TABLE COLUMN KEY=VALUE..
cell() {
    local table=$1 column=$2 keys
    shift 2
    keys=$(printf '%s,' "$@")
    "$bin/geodec-value" --root "$t" "$table.tsv#$column{${keys%,}}" | sed -n '2s/.*\t//p'
}
near() { awk "BEGIN {d = $1 - $2; exit !(d < $3 && d > -$3)}" || { echo "$1, not $2"; false; }; }

@test "the figures of the paper by its own arithmetic" {
    near "$(cell arithmetic value key=config-b)" 0.000212 5e-7
    near "$(cell arithmetic value key=crt)" -0.0116 5e-5
    near "$(cell arithmetic value key=hoist)" 0.0644 5e-5
    near "$(cell arithmetic value key=hoist-total)" 0.0955 5e-5
    near "$(cell arithmetic value key=kv-rate)" 207.4 0.05
    near "$(cell arithmetic value key=v1-fp32)" 3.25 0.005
    near "$(cell arithmetic value key=v1-fp16-128)" 1.35 0.005
    near "$(cell arithmetic value key=hierarchical)" 4.83 0.005
    near "$(cell arithmetic value key=slowdown-128)" 4.17 0.005
    [ "$(cell arithmetic value key=alignment)" = 2 ]
    [ "$(cell arithmetic value key=coverage)" = 74 ]
    [ "$(cell arithmetic value key=tests)" = 16 ]
}

@test "only Config B as a scaling changes the perplexity" {
    for c in B,1 E,1 E,2; do
        [ "$(cell shim change place=1 bits=12 config="${c%,*}" reading="${c#*,}")" = 0 ]
        [ "$(cell shim changed place=1 bits=12 config="${c%,*}" reading="${c#*,}")" = 0 ]
        [ "$(cell shim kl place=1 bits=12 config="${c%,*}" reading="${c#*,}")" = 0 ]
    done
    near "$(cell shim changed place=1 bits=12 config=B reading=2)" 1 0.01
    awk "BEGIN {exit !($(cell shim se place=1 bits=12 config=B reading=2) > 0 && $(cell shim tokens place=1 bits=12 config=B reading=2) == 765)}"
    near "$(cell shim change place=1 bits=12 config=B reading=2)" 0 0.005
}

@test "a model that is not there is skipped aloud, and no model is no result" {
    [ "$(grep -c 'absent is skipped: it or its text is not there' "$BATS_FILE_TMPDIR/log")" -eq 3 ]
    run pipelines/lab/integer/measure bits "$bin" "$BATS_TEST_TMPDIR/s" nowhere/absent.gguf nowhere/absent.txt
    [ "$status" -eq 5 ]
    [[ "$output" == *"no model could be measured" ]]
}

@test "a model whose copies in float32 are larger than half of the memory is not measured" {
    printf 'MemTotal: 1000 kB\n' > "$BATS_TEST_TMPDIR/meminfo"
    MEMINFO=$BATS_TEST_TMPDIR/meminfo run pipelines/lab/integer/measure shim "$bin" "$BATS_TEST_TMPDIR/s" data/model/geodec-stories-f16.gguf README.md
    [ "$status" -eq 5 ]
    [[ "${lines[-1]}" =~ 'no model could be measured: 2 copies of geodec-stories-f16 in float32 need '[0-9]+' MB, and half of '.*' is 0 MB' ]]
}

@test "the perplexity comes nearer to the exact pass with more bits" {
    [ "$(sed 1d "$t/bits.tsv" | wc -l)" -eq 6 ]
    [ "$(sed 1d "$t/bits.tsv" | cut -f 5,6 | sort -u | wc -l)" -eq 1 ]
    awk "BEGIN {exit !($(cell bits kl place=1 weights=16 activations=16) < $(cell bits kl place=1 weights=8 activations=16) / 10 &&
        $(cell bits kl place=1 weights=8 activations=16) < $(cell bits kl place=1 weights=4 activations=16) / 10)}"
}

@test "results over builds are counted among equal numbers of tokens" {
    [ "$(cell hashes hashes system=integer)" = 1 ]
    [ "$(cell hashes builds system=integer)" = 4 ]
    [ "$(cell hashes architectures system=integer)" = 2 ]
    [ "$(cell hashes hashes system=exact)" = 3 ]
    [ "$(cell hashes builds system=exact)" = 4 ]
    [ "$(sed 1d "$R/fig/integer-hashes.tsv" | wc -l)" -eq 9 ]
    [ "$(awk -F'\t' '$5 == "exact, m1" {print $3, $6, $4}' "$R/fig/integer-hashes.tsv" | sort | tr '\n' ';')" = \
        "1 1 x86_64 clang -O2 scalar;1 1 x86_64 gcc -O2 scalar;2 1 x86_64 gcc -O2 avx2;2 2 x86_64 clang -O2 avx2;" ]
    run make -s QUICK=1 R="$BATS_TEST_TMPDIR/none" EVERYWHERE_TABLE=nowhere.tsv "$BATS_TEST_TMPDIR/none/fig/integer-hashes.svg"
    [ "$status" -eq 0 ]
    grep -q 'the matrix of builds was not measured' "$BATS_TEST_TMPDIR/none/fig/integer-hashes.svg.not-measured"
}

@test "the ring: the needed experts add up, and what is in memory is not waited for" {
    awk -F'\t' 'NR > 1 {d = $6 + $7 + $8 + $9 - 1; if (d > 1e-3 || d < -1e-3) bad = 1} END {exit bad || NR != 5}' "$t/ring.tsv"
    [ "$(cell ring stall_ms cache=all)" = 0 ]
    [ "$(cell ring ready cache=all)" = 1 ]
    awk "BEGIN {exit !($(cell ring missed cache=direct) > 0 && $(cell ring stall_ms cache=direct) > 0)}"
}

@test "scores are measured, or the reason is told" {
    [ -s "$t/scores.tsv" ] || grep -q 'geodec-integer-scores is not there' "$t/scores.tsv.not-measured"
    { printf 'dim\tcontext\tmethod\tstate\tmultiplications\tbytes\tns_per_score\tratio_to_direct_int16\texact\n'
      for c in 128 1024; do
          printf '256\t%s\tdirect-int16\thot\t256\t512\t2\t1\t1\n256\t%s\tntt-crt\thot\t512\t2048\t56\t28\t1\n' $c $c
      done; } > "$BATS_TEST_TMPDIR/scores.tsv"
    pipelines/plots/draw pipelines/lab/integer/integer-scores.gp "$BATS_TEST_TMPDIR/s.svg" \
        "nan=NaN; plots='pipelines/plots'; tsv='$BATS_TEST_TMPDIR/scores.tsv'"
    grep -q 'ntt-crt' "$BATS_TEST_TMPDIR/s.svg"
}

@test "claims: no reference is broken; without results nothing is decided" {
    "$bin/geodec-claims" --strict --root "$BATS_FILE_TMPDIR" --results r --file geodec-stories-f16 pipelines/lab/integer/claims.tsv > "$BATS_TEST_TMPDIR/c"
    [ "$(sed 1d "$BATS_TEST_TMPDIR/c" | wc -l)" -eq 35 ]
    verdict() { awk -F'\t' -v k="integer-$1" '$1 == k {print $9}' "$BATS_TEST_TMPDIR/c"; }
    for k in overflow listing-barrett proth crt-identical config-b-frobenius config-e-large kl kv-rate coverage ratio-high; do
        [ "$(verdict $k)" = refuted ] || { echo "$k: $(verdict $k)"; false; }
    done
    for k in subtractions config-b hoist crt-time alignment ratio-low tests; do
        [ "$(verdict $k)" = "not reproduced" ] || { echo "$k: $(verdict $k)"; false; }
    done
    for k in length config-e theorem v1-error; do [ "$(verdict $k)" = holds ] || { echo "$k: $(verdict $k)"; false; }; done
    [ "$(verdict v1-ratio)" = reproduced ]
    [ "$(verdict builds)" = untestable ] # the table of this test has no llama.cpp
    "$bin/geodec-claims" --root "$BATS_TEST_TMPDIR" --results none --file m pipelines/lab/integer/claims.tsv > "$BATS_TEST_TMPDIR/none.tsv"
    [ "$(sed 1d "$BATS_TEST_TMPDIR/none.tsv" | cut -f 9 | sort -u)" = untestable ]
}

@test "the rows of the report have a section of their own" {
    "$bin/geodec-verdict" --check pipelines/lab/integer/headline.tsv
    "$bin/geodec-verdict" --root "$R" pipelines/lab/integer/headline.tsv > "$BATS_TEST_TMPDIR/h"
    # the sizes of this test are below the least samples of the perplexities, codes and rounds
    cut -f 1,5 "$BATS_TEST_TMPDIR/h"
    [ "$(cut -f 5 "$BATS_TEST_TMPDIR/h" | grep -cE '^(holds|mixed|refuted)')" -ge 1 ]
    [ "$(cut -f 5 "$BATS_TEST_TMPDIR/h" | sed 1d | grep -vcE '^(holds|mixed|refuted|not measured: needs [0-9]+ )')" -le 1 ]
    [[ "$(grep ^integer-hashes "$BATS_TEST_TMPDIR/h")" == *"holds: one result"* ]]
    # what was not measured in this run says when and where it was
    mkdir -p "$BATS_TEST_TMPDIR/committed/integer"
    pipelines/lab/integer/measure hashes "$bin" docs/results/everywhere.tsv > "$BATS_TEST_TMPDIR/committed/integer/hashes.tsv"
    when=$(awk -F'\t' 'NR == 2 {print $1 ", " $2}' docs/results/everywhere-run.tsv)
    [[ "$when" =~ ^20[0-9][0-9]-[01][0-9]-[0-3][0-9],\ . ]]
    [[ "$("$bin/geodec-verdict" --root "$BATS_TEST_TMPDIR/committed" pipelines/lab/integer/headline.tsv)" == *"not measured in this run, but on $when (docs/results/everywhere.tsv)"* ]]
    "$bin/geodec-verdict" --root "$BATS_TEST_TMPDIR" pipelines/lab/integer/headline.tsv > "$BATS_TEST_TMPDIR/none"
    [ "$(cut -f 5 "$BATS_TEST_TMPDIR/none" | grep -c '^not measured: ')" -eq 6 ]
    : > "$BATS_TEST_TMPDIR/empty"
    for kind in '' --program; do
        pipelines/report/make-report $kind "$BATS_TEST_TMPDIR/empty" "$BATS_TEST_TMPDIR/empty" "$BATS_TEST_TMPDIR/h" "$BATS_TEST_TMPDIR/empty" "$R" > "$BATS_TEST_TMPDIR/page$kind"
        [ "$(sed '1,/<h2 id="integer">Integer arithmetic/d' "$BATS_TEST_TMPDIR/page$kind" | grep -c 'id="integer-')" -eq 3 ]
        [ "$(sed '/<h2 id="integer">Integer arithmetic/,$d' "$BATS_TEST_TMPDIR/page$kind" | grep -c 'id="integer-')" -eq 0 ]
    done
    # the rows of the program are on its own page
    grep -q 'id="integer-bits"' "$BATS_TEST_TMPDIR/page"
    grep -q 'id="integer-hashes"' "$BATS_TEST_TMPDIR/page--program"
}

@test "the page has every section, or the reason" {
    pipelines/lab/integer/page "$bin" "$t" data/model/geodec-stories-f16.gguf 'sizes' > "$BATS_TEST_TMPDIR/page"
    for what in model command machine date; do grep -q "^| $what | [^ ]" "$BATS_TEST_TMPDIR/page"; done
    [ "$(grep -c '^## ' "$BATS_TEST_TMPDIR/page")" -eq 9 ]
    [ "$(sed '1,/^## Every/d' "$BATS_TEST_TMPDIR/page" | grep -cE '\*\*(refuted|not reproduced|holds|reproduced|artefact|undecidable|untestable)\*\*')" -eq 35 ]
    [ -s "$t/scores.tsv" ] || grep -q '^Not measured: geodec-integer-scores' "$BATS_TEST_TMPDIR/page"
}

@test "without a setting the results over builds are those of docs/results" {
    unset EVERYWHERE_TABLE
    make -s QUICK=1 R="$BATS_TEST_TMPDIR/default" "$BATS_TEST_TMPDIR/default/integer/hashes.tsv"
    [ "$(cut -f 1 "$BATS_TEST_TMPDIR/default/integer/hashes.tsv" | tail -n +2 | paste -sd ' ')" = "$(tail -n +2 docs/results/everywhere.tsv | cut -f 1 | awk '!seen[$0]++' | paste -sd ' ')" ]
}
