#!/usr/bin/env bats
# Scores of integer attention by transforms: perplexity, the cost table, stores of keys.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export D=$BATS_FILE_TMPDIR model=$PWD/data/model/geodec-stories-q8_0.gguf
    "$bin/geodec-integer-scores" -q -m "$model" --tokens 70 --save "$D/p60.store" docs/tutorial.md
    "$bin/geodec-integer-scores" -q -m "$model" --tokens 70 --save "$D/crt.store" --scores ntt-crt --isa scalar --threads 1 docs/tutorial.md
}

setup() {
    head -c 3000 docs/tutorial.md > "$tmp/text.txt"
}

# cell NAME < TABLE: that cell of the only row.
cell() { awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }'; }

@test "the logits do not depend on the scores" {
    "$bin/geodec-perplexity" -q -m "$model" --arithmetic integer "$tmp/text.txt" > "$tmp/direct"
    for how in ntt-p60 ntt-crt direct; do
        run -0 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --scores $how --perplexity "$tmp/text.txt"
        [ "$(cell scores <<< "$output")" = $how ]
        for figure in kl max_delta; do [ "$(cell $figure <<< "$output")" = 0 ]; done
        for figure in windows tokens perplexity; do [ "$(cell $figure <<< "$output")" = "$(cell $figure < "$tmp/direct")" ]; done
        [ "$(cell direct_perplexity <<< "$output")" = "$(cell perplexity < "$tmp/direct")" ]
        [[ $stderr == *"passes took "*" s of processor time by $how, "*" s by direct sums"* ]]
    done
    : > "$tmp/empty.txt"
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --perplexity "$tmp/empty.txt"
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "the cost table has every method, and every score is exact" {
    "$bin/geodec-integer-scores" --dims 32,65 --contexts 4,50 --rounds 1 --stream 1 -o "$tmp/cost.tsv"
    [ "$(head -1 "$tmp/cost.tsv")" = $'dim\tcontext\tmethod\tstate\tmultiplications\tbytes\tns_per_score\tratio_to_direct_int16\texact' ]
    [ "$(wc -l < "$tmp/cost.tsv")" -eq $((1 + 4 * 16)) ]
    awk -F'\t' 'NR > 1 { n[$3 " " $4]++; if ($9 != "yes" || $7 <= 0) bad = 1 }
        $3 == "direct-int16" && $8 != 1 { bad = 1 }
        $3 == "ntt-p60" && $1 == 65 && ($5 != 128 || $6 != 1024) { bad = 1 }
        END { for (m in n) { kinds++; if (n[m] != 4) bad = 1 }; exit bad || kinds != 16 }' "$tmp/cost.tsv"
    run ! --separate-stderr "$bin/geodec-integer-scores" --dims 0 --rounds 1
    [[ $stderr == *--dims* ]]
    run -1 --separate-stderr "$bin/geodec-integer-scores" --rounds 1 -o "$tmp/cost.tsv"
    [[ $stderr == *"cost.tsv"*exists* ]]
}

@test "stored keys give a later query the scores of fresh ones, on any instruction set" {
    for how in p60 crt; do
        for isa in auto scalar avx2 avx512; do
            [ $isa = auto ] || [ $isa = scalar ] || grep -qw "${isa/avx512/avx512f}" /proc/cpuinfo || continue # not in this processor
            run -0 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load "$D/$how.store" --isa $isa docs/tutorial.md
            [[ $stderr == *"3360 scores of token 71 by ntt-$how from $how.store; 0 differ from direct sums over fresh keys" ]]
            echo "$output" > "$tmp/$how.$isa"
            cmp "$tmp/$how.$isa" "$tmp/${how/crt/p60}.auto"
        done
    done
    [ "${#lines[@]}" -eq 49 ]
    [ "${lines[0]}" = $'layer\thead\tscores\tbest_position\tbest_score\tdiffering' ]
}

@test "a store of another text or model, and a damaged one, are refused on one line" {
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load "$D/p60.store" README.md
    [[ $stderr == *"p60.store: the keys are of another model or text" ]]
    run -3 "$bin/geodec-integer-scores" -m data/model/geodec-mixture-f16.gguf --load "$D/p60.store" docs/tutorial.md
    run -3 "$bin/geodec-integer-scores" -m data/model/geodec-stories-f16.gguf --load "$D/p60.store" docs/tutorial.md
    head -c 100 docs/tutorial.md > "$tmp/short.txt"
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load "$D/p60.store" "$tmp/short.txt"
    [[ $stderr == *"one more is needed" ]]
    head -c 9000 "$D/p60.store" > "$tmp/cut.store"
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load "$tmp/cut.store" docs/tutorial.md
    [[ $stderr == *"cut.store: 9000 bytes do not hold"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    cp "$D/p60.store" "$tmp/bit.store"
    printf '\x5a' | dd of="$tmp/bit.store" bs=1 seek=50001 conv=notrunc status=none
    ! cmp -s "$D/p60.store" "$tmp/bit.store" || false
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load "$tmp/bit.store" docs/tutorial.md
    [[ $stderr == *"bit.store: the keys are damaged" ]]
    run -3 --separate-stderr "$bin/geodec-integer-scores" -m "$model" --load README.md docs/tutorial.md
    [[ $stderr == *"README.md: no store of keys" ]]
}

@test "options that exclude each other, and existing files" {
    run -2 "$bin/geodec-integer-scores" -m "$model" --load "$D/p60.store" --save "$tmp/x" docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" -m "$model" --perplexity --save "$tmp/x" docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" --perplexity docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" --save "$tmp/x" docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" -m "$model" --save "$tmp/x" --scores direct docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" docs/tutorial.md
    run -2 "$bin/geodec-integer-scores" -m "$model" --save "$tmp/x"
    run -1 "$bin/geodec-integer-scores" -m "$model" --save "$D/p60.store" docs/tutorial.md
    [[ $output == *"p60.store"*exists* ]]
    [ ! -e "$tmp/x" ]
}
