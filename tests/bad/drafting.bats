#!/usr/bin/env bats
# Damaged inputs of drafters, projections and their measurements: every mutation of mutate_h5, with a valid digest, so that the checks
# after the digest are reached. The result is one line that names the file and status 3, or the text of plain decoding, and no file is left.
# For a file that changes the model or the measurements it may also be status 1 with one line: a requested field or layer is missing.
# GEODEC_MUTATIONS=1 tests every mutation, 7 (the default) every seventh.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export mutate=$PWD/$B/tests/bad/mutate_h5
    export model=${GEODEC_TEST_MODEL:-$PWD/data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || return 0 # setup says it
    export art=$BATS_FILE_TMPDIR
    cd "$art" || return 1
    "$bin/geodec-corpus" -q --stories 12 --seed 5 -o text.txt --report text.json
    "$bin/geodec-sample" -q --model "$model" --texts 20 --length 48 -o store.tokens
    "$bin/geodec-export" -q --model "$model" --tokens store.tokens --layers last -o store.h5
    "$bin/geodec-bake" -q -o flowmap.h5 store.h5
    "$bin/geodec-onedecode" -q --cells 32 -o onedecode.h5 store.h5
    "$bin/geodec-rollout" -q --model "$model" --sites 40 --resamples 20 -o rollout.h5 store.h5 > /dev/null
    "$bin/geodec-project" -q --model "$model" --slots q -o projection.h5 > /dev/null
    "$bin/geodec-project-kv" -q --model "$model" -b weights -o kvprojection.h5 > /dev/null
    "$bin/geodec-depth" -q --model "$model" -o depth.h5 > /dev/null
    "$bin/geodec-bench-decode" -q --model "$model" --artifacts . --prompts text.txt --n-prompts 2 --max-tokens 8 --gammas 2 \
        --drafters ngram,flowmap --timed 1 --seeds 1 -o bench.h5 > /dev/null
    "$bin/geodec-decode" -q --model "$model" --prompt "One day" --max-tokens 16 > plain
}

setup() {
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return 1
}

# Consumers of a file of this folder. Their text is that of plain decoding; with `free` it may differ.
decode() { "$bin/geodec-decode" -q --model "$model" --artifacts . --prompt "One day" --max-tokens 16 --gamma 4 "$@"; }
use_flowmap() { decode --draft ngram+flowmap --tree 8; }
use_onedecode() { decode --draft onedecode; }
use_rollout() { decode --draft rollout; }
use_projection() { decode --draft model --draft-projection projection.h5; }
use_kvprojection() { decode --kv-projection kvprojection.h5; }
use_depth() { "$bin/geodec-depth" -q --model "$model" --probe depth.h5; }
use_bench() { "$bin/geodec-gain" -q --drafter flowmap --control ngram bench.h5; }
use_store() { "$bin/geodec-bake" -q -o out.h5 store.h5; }

# mutated KIND [free]: tests the mutations of this kind.
mutated() {
    local kind=$1 free=${2:-} every=${GEODEC_MUTATIONS:-7} n=0 names plain left
    plain=$(< "$art/plain")
    shopt -s dotglob nullglob globstar # of left
    names=$("$mutate" --list "$art/$kind.h5")
    while read -r mutation; do
        n=$((n + 1))
        [ $((n % every)) -eq 0 ] || continue
        [ ! -e out.h5 ] || rm out.h5
        "$mutate" "$art/$kind.h5" "$kind.h5" "$mutation"
        run --separate-stderr "use_$kind"
        echo "$mutation: status $status, stderr '$stderr'"
        case $status in
        0) [ -n "$free" ] || [ "$output" = "$plain" ] ;;
        3)
            [ -z "$output" ] || [ -n "$free" ]
            [ "${#stderr_lines[@]}" -eq 1 ]
            [[ "$stderr" == *"$kind.h5"* ]]
            [ ! -e out.h5 ]
            ;;
        4) [ "$kind" = depth ] ;;
        1) # passes overflow, or the requested field is missing
            [ -n "$free" ]
            [ -z "$output" ]
            [ "${#stderr_lines[@]}" -eq 1 ]
            ;;
        *) false ;;
        esac
        left=(**/*.tmp*)
        [ "${#left[@]}" -eq 0 ]
    done <<< "$names"
    [ "$n" -gt 20 ]
}

@test "mutations of a flow map" { mutated flowmap; }
@test "mutations of OneDecode's table" { mutated onedecode; }
@test "mutations of a rollout" { mutated rollout; }
@test "mutations of a projection that drafts" { mutated projection; }
@test "mutations of a projected cache" { mutated kvprojection free; }
@test "mutations of a depth sink" { mutated depth free; }
@test "mutations of a benchmark's counts" { mutated bench free; }
@test "mutations of a store that is baked" { mutated store free; }

@test "negative counts are not a gain" {
    for mutation in minus-one:texts/passes least:texts/accepted most:texts/rounds; do
        "$mutate" "$art/bench.h5" bench.h5 "$mutation"
        run --separate-stderr use_bench
        [ "$status" -eq 3 ]
        [ -z "$output" ]
        [[ "$stderr" == *"bench.h5: row "* ]]
    done
}

@test "truncated, empty or missing file, a folder, another kind" {
    for kind in flowmap onedecode rollout projection kvprojection depth bench store; do
        size=$(stat -c %s "$art/$kind.h5")
        for cut in 0 1 511 513 $((size / 2)) $((size - 1)); do
            head -c "$cut" "$art/$kind.h5" > "$kind.h5"
            run --separate-stderr "use_$kind"
            echo "$kind cut at $cut: status $status, stderr '$stderr'"
            [ "$status" -eq 3 ]
            [ -z "$output" ]
            [ "${#stderr_lines[@]}" -eq 1 ]
            [[ "$stderr" == *"$kind.h5"* ]]
        done
        cp "$art/text.txt" "$kind.h5"
        run --separate-stderr "use_$kind"
        [ "$status" -eq 3 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"$kind.h5"* ]]
        if [ "$kind" = store ]; then cp "$art/depth.h5" "$kind.h5"; else cp "$art/store.h5" "$kind.h5"; fi
        run --separate-stderr "use_$kind"
        [ "$status" -eq 3 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"$kind.h5: is of kind"* ]]
        rm "$kind.h5"
        run --separate-stderr "use_$kind"
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"$kind.h5"* ]]
        mkdir "$kind.h5"
        run --separate-stderr "use_$kind"
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"$kind.h5"* ]]
        rmdir "$kind.h5"
    done
}

@test "files of another model are refused" {
    "$bin/geodec-quantize" -q --type q8_0 -o other.gguf "$model" > /dev/null
    cp "$art"/{flowmap,onedecode,rollout,projection,kvprojection,depth}.h5 .
    model=$PWD/other.gguf
    for kind in flowmap onedecode rollout projection kvprojection depth; do
        run --separate-stderr "use_$kind"
        echo "$kind: status $status, stderr '$stderr'"
        [ "$status" -eq 3 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"$kind.h5"* && "$stderr" == *model* ]]
    done
}

# kept FILE WORD COMMAND...: status 2 with the word; the file is unchanged.
kept() {
    local file=$1 word=$2 before
    shift 2
    before=$(sha256sum < "$file")
    run --separate-stderr "$@"
    echo "status $status, stderr '$stderr'"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ "$stderr" == *"$word"* ]]
    [ "$(sha256sum < "$file")" = "$before" ]
}

@test "an output that is also an input, by any name, is refused even with --force" {
    cp "$art/store.h5" "$art/text.txt" .
    cp "$model" m.gguf
    ln m.gguf twin.gguf
    ln -s store.h5 link.h5
    kept store.h5 "store.h5 is an input" "$bin/geodec-bake" --force -o store.h5 store.h5
    kept store.h5 "link.h5 is an input" "$bin/geodec-bake" --force -o link.h5 store.h5
    kept m.gguf "(--model)" "$bin/geodec-project" --force --model m.gguf -o m.gguf
    kept m.gguf "(--model)" "$bin/geodec-decode" --force --model m.gguf --report twin.gguf
    kept m.gguf "(--model)" "$bin/geodec-depth" --force --model m.gguf -o ./m.gguf
    kept m.gguf "m.gguf is an input" "$bin/geodec-quantize" --force --type f16 -o m.gguf m.gguf
    kept text.txt "(--prompts)" "$bin/geodec-bench-decode" --force --model m.gguf --prompts text.txt --speed text.txt -o b.h5
    kept text.txt "text.txt is an input" "$bin/geodec-perplexity" --force --model m.gguf --json text.txt text.txt
    kept text.txt "written twice" "$bin/geodec-bench-decode" --force --model m.gguf --prompts text.txt --speed b.h5 -o b.h5
    [ ! -e b.h5 ]
}

@test "an output in a missing folder is refused before the work" {
    for tool in "geodec-decode --model $model --max-tokens 1000000 --ctx 100000 --report" \
        "geodec-bench-decode --model $model --prompts $art/text.txt -o" "geodec-rollout --model $model $art/store.h5 -o"; do
        # shellcheck disable=SC2086
        run --separate-stderr timeout 20 "$bin"/$tool nowhere/out
        echo "status $status, stderr '$stderr'"
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"nowhere/out"* ]]
    done
    mkdir folder
    run --separate-stderr "$bin/geodec-decode" --force --model "$model" --report folder
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == *"folder: is a folder"* ]]
}

@test "invalid options of decoding are usage errors" {
    for o in "--gamma -1" "--gamma 1e9" "--gamma 65" "--gamma x" "--tree -1" "--tree 65" "--temperature nan" "--temperature -1" \
        "--top-p 0" "--top-p nan" "--top-k -1" "--seed -1" "--seed 18446744073709551616" "--threads 0" "--threads 100000" \
        "--max-tokens -1" "--ctx -1" "--gate 2" "--gate nan" "--draft wish" "--draft exit:0" "--draft +ngram" "--library-bytes 5" \
        "--attnres damp:nan" "--attnres damp:2" "--kv q2" "--system x" "--draft flowmap"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-decode" --model "$model" $o
        echo "$o: status $status, stderr '$stderr'"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$stderr" ]
    done
    for o in "--gamma 0 --draft ngram" "--tree 64 --gamma 64 --draft ngram" "--threads 200" "--seed 18446744073709551615" \
        "--temperature 1e-300"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-decode" --model "$model" -p "One day" --max-tokens 16 $o
        [ "$status" -eq 0 ]
        [ "$output" = "$(cat "$art/plain")" ]
    done
    for o in "--gammas 0" "--gammas 4,2" "--gammas 17" "--gammas x" "--trees 0" "--trees 65" "--trees 8,8" "--seeds -1" \
        "--n-prompts 0" "--prompt-tokens 0" "--temperature nan" "--timed -1" "--drafters wish" "--drafters ngram,,bigram" \
        "--modes fast" "--judge wish"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-bench-decode" -q --model "$model" --prompts "$art/text.txt" --n-prompts 2 \
            --drafters ngram --max-tokens 4 --gammas 2 --timed 0 --readiness r.json -o b.h5 $o
        echo "$o: status $status, stderr '$stderr'"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ -n "$stderr" ]
        [ -z "$(ls)" ]
    done
}
