#!/usr/bin/env bats
# The example programs of docs/examples, one for each installed header: compiled with the installed files alone, and run.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export root=$BATS_FILE_TMPDIR/root out=$BATS_FILE_TMPDIR/out
    make -s PROFILE="$(basename "$B")" install PREFIX=/opt DESTDIR="$root" > /dev/null
    mkdir "$out"
    export PKG_CONFIG_PATH=$root/opt/lib/pkgconfig
    # shellcheck disable=SC2046 # words
    for f in docs/examples/*.c; do
        cc -std=c11 -Wall -Wextra -Werror "$f" $(pkg-config --define-variable=prefix="$root/opt" --cflags --libs geodec) \
            -I"$root/opt/include" -L"$root/opt/lib" -Wl,-rpath,"$root/opt/lib" -lm -o "$out/$(basename "$f" .c)"
    done
}

example() { (cd "$out" && "./$@"); }
model=$PWD/data/model/geodec-stories-f16.gguf

@test "every installed header has an example, and every example a header" {
    diff <(cd "$root/opt/include/geodec" && ls ./*.h) <(cd docs/examples && for f in ./*.c; do echo "${f%.c}.h"; done)
    [ "$(find "$root/opt/include" -name '*.h' | wc -l)" -le 24 ]
    [ "$(nm -D --defined-only "$root"/opt/lib/libgeodec.so.? | grep -c ' [TRD] ')" -le 170 ]
    for f in "$out"/*; do readelf -d "$f" | grep -q 'NEEDED.*\[libgeodec\.so\.[0-9]*\]' || { echo "$f"; false; }; done
}

@test "errors, threads, matrices, samples" {
    run -0 example err
    [[ "$output" == *"geodec $(cat VERSION)"*"NOTFOUND (not found), exit code of a tool: 1"*"reading the cloud of a paper: "*"/nonexistent/cloud.h5"* ]]
    run -0 example run
    [[ "$output" == *"2 threads"*"INTERRUPTED after 1 call(s)"* ]]
    printf 'a,b\n1,2\n3,nan\n5,6\n' > "$out/m.csv"
    run -0 example matrix m.csv
    [[ "$output" == *"2 of 3 rows, 2 columns; 1 rows left out"*$'1 2\n5 6' ]]
    run -0 example sampler
    # e / (1 + e + e^2) of three candidates
    [[ "$output" == *"token 0: probability 0.0900"*"token 1: probability 0.6652"*"token 3: probability 0.0000, 0.0000"* ]]
}

@test "spaces, geodesics and curvature agree with their closed forms" {
    run -0 example space
    # (2 / 1.1)^2, e^0.5, e^0.6 and 1
    [[ "$output" == *"g = 3.305785 I"*"g_00 = 1.648721, e^(1/2) = 1.648721"*"g = 1.822119 I, Gamma^0_00 = 1.000000"* ]]
    run -0 example geodesic
    [[ "$output" == *"end 0.5463"*"log map: (0.5"* ]]
    awk '/^end/ { sub(",", "", $2); exit !($2 - $5 < 1e-6 && $5 - $2 < 1e-6) }' <<< "$output"
    awk '/^dx_0/ { sub(",", "", $3); d = $3 - $NF; exit !(d < 1e-4 && d > -1e-4) }' <<< "$output"
    run -0 example curvature
    [ "$(awk '{ sub(",", "", $8); sub(";", "", $10); if ($8 - $10 < 1e-6 && $10 - $8 < 1e-6) n++ } END { print n }' <<< "$output")" = 9 ] || { echo "$output"; false; }
}

@test "a model: tokens, passes, decoding, drafters, streaming" {
    run -0 example model "$model"
    [[ "$output" == *"layers of width"*"fingerprint"* ]]
    run -0 example tokenizer "$model" "Once upon a time"
    [[ "$output" == *$'\nOnce upon a time' ]]
    run -0 example session "$model" "Once upon a"
    [[ "$output" == *'" time"'*"bits equal"* ]] || [[ "$output" == *'time"'*"bits equal"* ]]
    run -0 example decode "$model" "Once upon a time"
    [[ "$output" == *"the texts are equal; tokens per pass: 1.00 plain"* ]]
    run -0 example drafter "$model"
    [[ "$output" == *"drafters: "*"flowmap"*"the texts are equal"* ]]
    run -0 example streaming "$PWD/data/model/geodec-mixture-f16.gguf"
    [[ "$output" == *"read from disk; the texts are equal"* ]]
}

@test "the chain: states, cloud, metric, symbols, geodesics, curvature, propagators, records; and a flow map" {
    "$bin/geodec-corpus" -q --seed 3 --stories 30 -o "$out/text"
    mapfile -t story < <(awk 'BEGIN { RS = "" } { gsub("\n", " "); print }' "$out/text")
    run -0 example export "$model" a.h5 "${story[@]}"
    [[ "$output" == *"states of ${#story[@]} texts" ]]
    run -0 example artifact a.h5
    [[ "$output" == "made by export"* ]]
    run -0 example cloud a.h5 cloud.h5 "$(cd "$out" && ./model "$model" | sed -n "s/.*: \([0-9]*\) layers.*/\1/p")"
    [[ "$output" == *"TwoNN dimension"*"of a Gaussian cloud"* ]]
    run -0 example geodec cloud.h5
    [ "$output" = "cloud.h5: cloud" ]
    run -0 example metric cloud.h5 metric.h5 3
    [[ "$output" == *"of Gaussian noise: median condition"* ]]
    run -0 example christoffel metric.h5
    [[ "$output" == "100 points: metric compatibility "* ]]
    run -0 example geodesics metric.h5 paths.h5
    [[ "$output" == "8 paths of 17 nodes"* ]]
    run -0 example riemann metric.h5
    [[ "$output" == *"of noise"*"unit sphere"* ]]
    run -0 example propagators metric.h5 paths.h5 phi.h5
    [[ "$output" == "8 propagators; largest gap"* ]]
    run -0 example records metric.h5 phi.h5
    [[ "$output" == *"to the first anchor is record 0, at distance 0" ]]
    run -0 example flowmap a.h5 map.h5
    [[ "$output" == *"with labels permuted"* ]]
    # The tools read what the examples wrote.
    "$bin/geodec-check" "$out/cloud.h5" "$out/metric.h5" "$out/paths.h5" "$out/phi.h5" "$out/map.h5"
}
