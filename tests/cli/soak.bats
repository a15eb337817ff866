#!/usr/bin/env bats
# tests/bench/soak.sh: short runs of both forms, and its failures: another text, a size that grows, a speed that falls. The long runs: docs/results/soak.md.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    export XDG_CACHE_HOME=$dir/cache
    cp data/model/geodec-stories-q8_0.gguf "$dir/m.gguf"
}

row() { awk -F '\t' -v n="$1" -v c="$2" 'NR == n + 1 { print $c }' <<<"$output"; }

@test "every text is compared, with a drafter and experts on demand; rows have tokens, times and the resident size" {
    printf 'One day\nThe cat\n' >"$dir/prompts"
    STEP=1 PROMPTS=$dir/prompts DRAFT=ngram CTX=64 run --separate-stderr timeout 300 tests/bench/soak.sh data/model/geodec-mixture-f16.gguf 4 4M --threads 1
    echo "$output $stderr"
    [ "$(head -n 1 <<<"$output" | tr '\t' ' ')" = "seconds tokens tokens_per_s cpu_us_per_token control_cpu_us_per_token resident_kb texts records" ]
    for n in 1 2 3 4; do
        [ "$(row "$n" 2)" -ge 32 ]
        awk -v t="$(row "$n" 4)" -v c="$(row "$n" 5)" -v s="$(row "$n" 6)" 'BEGIN { exit !(t > 0 && c > 0 && s > 4000) }'
    done
    last=$(grep -c '^[0-9]' <<<"$output")
    [ "$(row "$last" 7)" -gt "$(row 1 7)" ]
    grep -q "^drift.rows $last.*texts $(row "$last" 7), all the same" <<<"$output"
}

@test "a library grows to its limit, and the texts stay those of plain decoding" {
    "$bin/geodec-prepare" --quiet --texts 20 --length 64 "$dir/m.gguf"
    "$bin/geodec-corpus" --quiet --bytes 40000 -o "$dir/corpus"
    awk '{ $0 = $1 " " $2 " " $3 } NF == 3 && !seen[$0]++ && n++ < 40' "$dir/corpus" >"$dir/prompts"
    STEP=1 CTX=128 PROMPTS=$dir/prompts LIBRARY=90000 ARTIFACTS=$dir/m.gguf.geodec run --separate-stderr timeout 300 tests/bench/soak.sh "$dir/m.gguf" 6 - --threads 1
    echo "$output $stderr"
    line=$(grep ^library <<<"$output")
    [[ $line =~ ([0-9]+)" records made, "([0-9]+)" fit" ]]
    [ "${BASH_REMATCH[1]}" -gt "${BASH_REMATCH[2]}" ]
    [ "$(row "$(grep -c '^[0-9]' <<<"$output")" 8)" = "${BASH_REMATCH[2]}" ]
}

@test "another text is a failure, and its bytes are named" {
    # a decoder that writes one other letter after a while, in the long process only
    mkdir -p "$dir/fake/bin"
    ln -sf "$bin"/* "$dir/fake/bin/"
    rm "$dir/fake/bin/geodec-decode"
    cat >"$dir/fake/bin/geodec-decode" <<END
#!/bin/bash
[[ " \$* " == *" --draft ngram "* ]] || exec $bin/geodec-decode "\$@"
$bin/geodec-decode "\$@" | awk '++n == 30 { sub(/e/, "a") } { print; fflush() }'
END
    chmod +x "$dir/fake/bin/geodec-decode"
    STEP=1 CTX=64 DRAFT=ngram B=$dir/fake run --separate-stderr timeout 300 tests/bench/soak.sh "$dir/m.gguf" 4 - --threads 1
    echo "$output $stderr"
    [ "$status" -eq 1 ]
    grep -q 'soak.sh: another text: bytes' <<<"$stderr"
    [[ $output != *drift* ]]
}

@test "a decoder that ends is a failure" {
    mkdir -p "$dir/ends/bin"
    ln -sf "$bin"/* "$dir/ends/bin/"
    rm "$dir/ends/bin/geodec-decode"
    printf '#!/bin/bash\n[[ " $* " == *" --draft ngram "* ]] || exec %s "$@"\nhead -n 2 | exec %s "$@"\n' "$bin/geodec-decode" "$bin/geodec-decode" >"$dir/ends/bin/geodec-decode"
    chmod +x "$dir/ends/bin/geodec-decode"
    STEP=1 CTX=64 DRAFT=ngram B=$dir/ends run --separate-stderr timeout 300 tests/bench/soak.sh "$dir/m.gguf" 4 - --threads 1
    echo "$output $stderr"
    [ "$status" -eq 1 ]
    grep -q 'the decoder ended' <<<"$stderr"
}

# rows SIZE-GROWTH CPU-GROWTH CONTROL-GROWTH: eight rows whose numbers grow by these shares from the first to the last
rows() {
    awk -v s="$1" -v p="$2" -v c="$3" 'BEGIN { for (i = 0; i < 8; i++) printf "%d\t1000\t50\t%.4f\t%.4f\t%.0f\t%d\t%d\n",
        i + 1, 100 * (1 + p * i / 7), 80 * (1 + c * i / 7), 20000 * (1 + s * i / 7), 9 * (i + 1), 100 * i }'
}
judge() { awk -f tests/bench/soak.awk -v first=20000 -v room=0 -v made=0 -v cap=0 "$@"; }

@test "limits: 1 % of the resident size, 5 % of the processor time in relation to the control" {
    # the halves differ by 4/7 of the growth and less, because the second mean is of later rows
    rows 0 0 0 | judge
    rows .009 .04 0 | judge
    rows 0 .5 .5 | judge
    run ! judge < <(rows .012 0 0)
    run ! judge < <(rows -.012 0 0)
    run ! judge < <(rows 0 .12 0)
    run ! judge < <(rows 0 0 .12)
    run ! judge < <(rows 0 0 0 | head -n 3)
    run ! judge < <(rows 0 0 0 | awk 'BEGIN { FS = OFS = "\t" } { $7 = 0; print }')
}

@test "rows before the library is full do not count, and it may take its bytes and a quarter until then" {
    # the size grows by half until the fourth row
    grown() { rows 0 0 0 | awk 'BEGIN { FS = OFS = "\t" } { $6 = NR < 4 ? 20000 + 3000 * NR : 30000; print }'; }
    grown | judge -v room=300 -v made=1000 -v cap=10240000
    run ! judge -v room=300 -v made=1000 -v cap=7000000 < <(grown)
    run ! judge -v room=0 < <(grown)
    run ! judge -v room=800 -v made=700 -v cap=10240000 < <(grown)
}
