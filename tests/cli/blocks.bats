#!/usr/bin/env bats
# geodec-blocks: thread independence, controls, the published figures at the golden points, refusals.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$bin/geodec-corpus" -q --stories 24 --seed 5 -o "$dir/text.txt"
    "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$dir/text.txt" --layers last -p 0:40 -o "$dir/a.h5"
}

@test "the same bytes with any number of threads; persistence is 1" {
    "$bin/geodec-blocks" --quiet -t 1 -n 3 --metric-points 60 --stride 2 -o "$dir/one.h5" "$dir/a.h5"
    "$bin/geodec-blocks" --quiet -t 3 -n 3 --metric-points 60 --stride 2 -o "$dir/three.h5" "$dir/a.h5"
    cmp "$dir/one.h5" "$dir/three.h5"
    "$bin/geodec-table" "$dir/one.h5" error | awk -F'\t' 'NR == 2 {for (i = 1; i <= NF; i++) if ($i < 0.999999 || $i > 1.000001) exit 1}'
}

@test "the published stage runs on every golden cloud and reproduces the published figures" {
    shopt -s nullglob
    found=
    for file in "$(golden_folder)"/*_n[0-9].h5; do
        h5ls "$file/cloud" > /dev/null 2>&1 || continue
        found=yes
        "$bin/geodec-published" --quiet --force blocks --draws "$file" -o "$dir/ref.h5"
    done
    [ "$found" ]
    file=$(golden_folder)/smollm2-135m_n8.h5
    "$bin/geodec-published" --quiet --force blocks --draws "$file" --velocities pipelines/lab/blocks/blocks.draws.tsv \
        --points 14,31,46,33,12,29,20,44,15,2,34,38,28,11,47,49,26,37,1,22,59,8,57,48 -o "$dir/ref.h5"
    "$bin/geodec-table" "$dir/ref.h5" jacobi simplex | tail -n 1 | awk -F'\t' '{exit !(sprintf("%.2f", $1) == "1.29" && sprintf("%.1f", $4) == "11.4")}'
}

@test "refusals" {
    run --separate-stderr "$bin/geodec-published" blocks
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-blocks" --stride 100000 -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -ne 0 ]
    [ ! -e "$dir/no.h5" ]
    file=$(golden_folder)/smollm2-135m_n8.h5
    for bad in 1,x 64 -1 1.5; do
        run --separate-stderr "$bin/geodec-published" blocks --draws "$file" --points "$bad" -o "$dir/no.h5"
        [ "$status" -eq 2 ]
        [ ! -e "$dir/no.h5" ]
    done
    printf '1\t2\t3\n' > "$dir/short.tsv"
    run --separate-stderr "$bin/geodec-published" blocks --draws "$file" --velocities "$dir/short.tsv" -o "$dir/no.h5"
    [ "$status" -eq 3 ]
    [ ! -e "$dir/no.h5" ]
}
