#!/usr/bin/env bats
# --arithmetic auto: the choice follows the file, and report, artifact and summary name it.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export float=$PWD/data/model/geodec-stories-f16.gguf dir=$BATS_FILE_TMPDIR
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    "$bin/geodec-quantize" --quiet --type q4_0 -o "$dir/block.gguf" "$float" > /dev/null
    # By bytes: more than half in block types, and less than half.
    "$bin/geodec-quantize" --quiet --type q8_0 --tensor '*ffn_down*=F16' -o "$dir/most.gguf" "$float" > /dev/null
    "$bin/geodec-quantize" --quiet --type q8_0 --tensor '*ffn*=F16' -o "$dir/few.gguf" "$float" > /dev/null
    yes 'One day a girl named Lily went to the park with her dog.' | head -n 40 > "$dir/text.txt"
}

# chosen MODEL: prints the arithmetic in the report of geodec-decode.
chosen() {
    "$bin/geodec-decode" -q --force --model "$1" -n 4 --report "$BATS_TEST_TMPDIR/r.json" > /dev/null
    sed -n 's/.*"arithmetic": "\(.*\)".*/\1/p' "$BATS_TEST_TMPDIR/r.json"
}

@test "fast for block types, exact for floats, mixed files by bytes; report and canonical command line name the choice" {
    [ "$(chosen "$float")" = exact ]
    grep -q -- '--arithmetic=exact' "$BATS_TEST_TMPDIR/r.json"
    [ "$(chosen "$dir/block.gguf")" = fast ]
    grep -q -- '--arithmetic=fast' "$BATS_TEST_TMPDIR/r.json"
    [ "$(chosen "$dir/most.gguf")" = fast ]
    [ "$(chosen "$dir/few.gguf")" = exact ]
}

@test "auto gives the bytes of its choice, and names it" {
    for model in "$float:exact" "$dir/block.gguf:fast"; do
        file=${model%:*} word=${model##*:}
        "$bin/geodec-sample" --force --model "$file" --texts 2 --length 40 -o "$tmp/auto" 2> "$tmp/said"
        "$bin/geodec-sample" -q --force --model "$file" --texts 2 --length 40 --arithmetic "$word" -o "$tmp/named"
        cmp "$tmp/auto" "$tmp/named"
        "$bin/geodec-perplexity" --model "$file" --windows 1 --json "$tmp/$word.json" "$dir/text.txt" > "$tmp/p-auto" 2> "$tmp/p-said"
        "$bin/geodec-perplexity" -q --model "$file" --windows 1 --arithmetic "$word" "$dir/text.txt" > "$tmp/p-named"
        cmp "$tmp/p-auto" "$tmp/p-named"
        grep -q "\"arithmetic\": \"$word\"" "$tmp/$word.json"
        if [ "$word" = fast ]; then
            grep -q 'arithmetic fast: 100 %' "$tmp/said"
            grep -q 'arithmetic fast' "$tmp/p-said"
            "$bin/geodec-perplexity" -q --model "$file" --windows 1 --arithmetic exact "$dir/text.txt" > "$tmp/p-exact"
            run ! cmp -s "$tmp/p-auto" "$tmp/p-exact"
        fi
    done
}

@test "the artifact of the bench names the choice and has the bytes of that arithmetic" {
    for how in "" "--arithmetic fast"; do
        # shellcheck disable=SC2086
        "$bin/geodec-bench-decode" -q --force --model "$dir/block.gguf" --prompts "$dir/text.txt" --n-prompts 2 --max-tokens 8 --gammas 2 \
            --drafters ngram --modes greedy --timed 0 $how -o "$BATS_TEST_TMPDIR/b${how:+2}.h5" > /dev/null
    done
    cmp "$BATS_TEST_TMPDIR/b.h5" "$BATS_TEST_TMPDIR/b2.h5"
    run "$bin/geodec-info" "$BATS_TEST_TMPDIR/b.h5"
    [[ "$output" == *"--arithmetic=fast"* ]]
}

@test "the same text with any instruction set, number of threads, draft and tree, in both arithmetics" {
    for file in "$float" "$dir/block.gguf" "$dir/most.gguf"; do
        "$bin/geodec-decode" -q --model "$file" --prompt "One day" -n 40 --temperature 0.8 --threads 1 --isa scalar > "$BATS_TEST_TMPDIR/one"
        for how in "--threads 2" "--threads 3 --draft ngram --gamma 4 --check-plain" "--draft ngram --tree 8 --gamma 4 --check-plain"; do
            # shellcheck disable=SC2086
            "$bin/geodec-decode" -q --model "$file" --prompt "One day" -n 40 --temperature 0.8 $how > "$BATS_TEST_TMPDIR/two"
            cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
        done
    done
}

@test "the arithmetic of a second model follows its own file, and the command line names it" {
    for how in "" "--draft-arithmetic exact"; do
        # shellcheck disable=SC2086
        "$bin/geodec-decode" -q --force --model "$float" --draft model --draft-model "$dir/block.gguf" $how --gamma 4 --prompt "One day" -n 30 \
            --check-plain --report "$BATS_TEST_TMPDIR/r${how:+2}.json" > "$BATS_TEST_TMPDIR/text${how:+2}"
    done
    cmp "$BATS_TEST_TMPDIR/text" "$BATS_TEST_TMPDIR/text2"
    grep -q -- '--draft-arithmetic=fast.* --arithmetic=exact' "$BATS_TEST_TMPDIR/r.json"
    grep -q -- '--draft-arithmetic=exact.* --arithmetic=exact' "$BATS_TEST_TMPDIR/r2.json"
}

@test "in a comparison the arithmetic of each model follows its own file" {
    "$bin/geodec-perplexity" -q --model "$float" --against "$dir/block.gguf" --windows 1 --json "$BATS_TEST_TMPDIR/p.json" "$dir/text.txt" > /dev/null
    [ "$(grep '"arithmetic"' "$BATS_TEST_TMPDIR/p.json" | tr -d ' ,\n')" = '"arithmetic":"exact""arithmetic":"fast"' ]
    grep -q -- '--against-arithmetic=fast' "$BATS_TEST_TMPDIR/p.json"
    # A given value applies to both.
    "$bin/geodec-perplexity" -q --model "$float" --against "$dir/block.gguf" --arithmetic exact --windows 1 --json "$BATS_TEST_TMPDIR/q.json" \
        "$dir/text.txt" > /dev/null
    [ "$(grep '"arithmetic"' "$BATS_TEST_TMPDIR/q.json" | tr -d ' ,\n')" = '"arithmetic":"exact""arithmetic":"exact"' ]
}

@test "the states of export are exact by default" {
    "$bin/geodec-export" -q --model "$dir/block.gguf" --text "$dir/text.txt" --max-tokens 40 -o "$BATS_TEST_TMPDIR/a.h5"
    "$bin/geodec-export" -q --model "$dir/block.gguf" --text "$dir/text.txt" --max-tokens 40 --arithmetic auto -o "$BATS_TEST_TMPDIR/b.h5"
    "$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/a.h5" | grep -q '^arithmetic	exact'
    "$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/b.h5" | grep -q '^arithmetic	fast'
}
