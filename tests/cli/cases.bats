#!/usr/bin/env bats
# Files on which version 1.0.0 was silently wrong or refused what is valid: the shared folder's cases, each with its right value.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup() {
    dir=$BATS_TEST_TMPDIR
    cases=${GEODEC_SHARED:-../shared}/cases/points
    [ -d "$cases" ] || skip "no shared folder"
}

# number REFERENCE: of the cloud
number() { "$bin/geodec-value" --quiet "$dir/c.h5#$1" | tail -n 1 | cut -f 2; }

# near REFERENCE VALUE: TwoNN of the cloud to .02
near() {
    value=$(number "$1")
    awk -v a="$value" -v b="$2" 'BEGIN { exit !(a > b - .02 && a < b + .02) }' || { echo "$1 is $value, not $2"; false; }
}

# cloud FILE [OPTIONS]: imports states and makes the cloud
cloud() {
    run --separate-stderr "$bin/geodec-import" --force --states -o "$dir/a.h5" "$@"
    [ "$status" -eq 0 ] || { echo "$stderr"; false; }
    said=$stderr
    run --separate-stderr "$bin/geodec-cloud" --force -o "$dir/c.h5" "$dir/a.h5"
    [ "$status" -eq 0 ] || { echo "$stderr"; false; }
}

@test "TwoNN is measured in the space that was given" {
    cloud "$cases/o_dim.npy"
    [[ "$stderr" == *"do not have the dimension of the states"* ]]
    near 'ladder/twonn_fit[-1]' 7.38
    near 'ladder/twonn_ml[-1]' 7.25
    cloud "$cases/m_parab3.npy"
    near 'ladder/twonn_fit[-1]' 2.79
    near 'ladder/twonn_ml[-1]' 2.79
    cloud "$cases/m_swiss_thin.npy"
    near 'ladder/twonn_fit[-1]' 1.89
    near 'ladder/twonn_ml[-1]' 1.92
}

@test "where ties dominate, TwoNN is not measured" {
    cloud "$cases/lattice.npy"
    [[ "$stderr" == *"TwoNN not measured: ties dominate (117 of 1602 points"* ]]
    [ "$(number 'ladder/twonn_used[-1]')" = 117 ]
}

@test "float64 states far from zero stay different" {
    cloud "$cases/off_30000_0.01.npy"
    [[ "$said" == *"median of each coordinate was subtracted"* ]]
    [[ "$stderr" == *"(0 duplicates dropped)"* ]]
    near 'ladder/twonn_fit[-1]' 2.98
    near 'ladder/twonn_ml[-1]' 3.04
}

@test "rows that are padding or fill values are left out and counted" {
    cloud "$cases/pad.safetensors"
    [[ "$said" == *"518 of 1280 rows left out by the mask attention_mask"* ]]
    near 'ladder/twonn_fit[-1]' 6.32
    cloud "$cases/nc.h5" --dataset pf
    [[ "$said" == *"10 of 400 rows left out by fill values"* && "$said" == *"scale_factor 0.01"* ]]
    near 'ladder/twonn_ml[-1]' 4.84 # of the 390 rows; the same 400 rows without fill have 4.77
}

@test "tables as other programs write them" {
    for f in nafirst emptyfirst; do
        run -3 "$bin/geodec-import" --coordinates -o "$dir/no.h5" "$cases/$f.csv"
        [[ "$output" == *"row 1, column 1"* ]]
    done
    run "$bin/geodec-import" --coordinates -o "$dir/bom.h5" "$cases/bom.csv"
    [[ "$output" == *"40 points of 3 coordinates"* ]]
    cloud "$cases/pd64.csv"
    [[ "$said" == *"was taken for a header"* && "$said" == *"1000 states"* ]]
}

@test "tensors that nobody reads do not matter" {
    cloud "$cases/st_mask.safetensors"
    cloud "$cases/st_scalar.safetensors"
    [[ "$said" == *"40 states of width 3"* ]]
}

@test "a folder of shards is one whole set, or refused by name" {
    "$bin/geodec-corpus" --quiet --seed 5 --stories 8 -o "$dir/t.txt"
    "$bin/geodec-export" --quiet --model data/model/geodec-stories-f16.gguf --text "$dir/t.txt" --layers last --max-tokens 300 --window 64 --format safetensors \
        --shard-tokens 100 -o "$dir/set"
    cloud "$dir/set"
    cp -r "$dir/set" "$dir/missing"
    second=$(cd "$dir/set" && echo model-00002-of-*.safetensors)
    rm "$dir/missing/$second"
    run -3 "$bin/geodec-import" --states -o "$dir/no.h5" "$dir/missing"
    [[ "$output" == *"$second is missing"* ]]
    cp -r "$dir/set" "$dir/extra"
    cp "$dir/set/$second" "$dir/extra/copy.safetensors"
    run -3 "$bin/geodec-import" --states -o "$dir/no.h5" "$dir/extra"
    [[ "$output" == *"copy.safetensors is not one of"* ]]
    cp -r "$dir/set" "$dir/killed"
    rm "$dir/killed"/*.json
    mv "$dir/killed/$second" "$dir/killed/model-00002-of-unfinished.safetensors"
    run -3 "$bin/geodec-import" --states -o "$dir/no.h5" "$dir/killed"
    [[ "$output" == *"interrupted"* ]]
}
