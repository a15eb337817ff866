#!/usr/bin/env bats
# geodec-import: matrices and the public exports become clouds; damaged files are refused with one line and code 3.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    golden=$(golden_folder)
    export golden
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 200 -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-table" "$dir/cloud.h5" /coordinates > "$dir/points.tsv"
    make_export "$dir/export"
}

# A synthetic export of 40 points.
make_export() {
    mkdir -p "$1"
    awk 'BEGIN {
        srand(3); print "{\"phase\": 1, \"model_name\": \"made up\", \"n_samples\": 40, \"embedding_dim\": 64,"
        print "\"intrinsic_dim\": 5, \"pca_components\": 6, \"explained_ratio\": 0.96, \"total_variance\": 17.5, \"twonn_raw\": 5.2,"
        print "\"eigenvalues\": [9, 4, 2, 1, 0.5, 0.25], \"cloud\": ["
        for (i = 0; i < 40; i++) printf "[%f, %f, %f]%s\n", 6 * rand() - 3, 4 * rand() - 2, 2 * rand() - 1, i < 39 ? "," : "]}"
    }' > "$1/phase1_manifold.json"
    echo '{"phase": 2, "symmetry_score": 0.5, "generators_found": 3}' > "$1/phase2_symmetry.json"
    echo '{"phase": 3, "mean_scalar_curvature": -2, "max_scalar_curvature": 1, "min_scalar_curvature": -2,
           "metric_field_points": 2, "dim": 5, "fisher_trace_mean": 7, "points": [{"R": -2}, {"R": 0.0}]}' > "$1/phase3_curvature.json"
    echo '{"phase": 4, "axiom_count": 9, "consistency_score": 0.75}' > "$1/phase4_axioms.json"
}

attribute() { # FILE NAME
    "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v n="$2" '$1 == n { print $2 }'
}

# refused CODE WORD ARGUMENTS...: one line with the word, and no output.
refused() {
    local code=$1 word=$2
    shift 2
    run --separate-stderr "$bin/geodec-import" -o "$dir/no.h5" "$@"
    echo "status $status, stderr '$stderr'"
    [ "$status" -eq "$code" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -le 2 ] # usage errors say where help is
    [[ "$stderr" == *"$word"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "coordinates: the same matrix as text and as foreign HDF5 gives the same points, and later tools accept it" {
    "$bin/geodec-import" --quiet --coordinates -o "$dir/text.h5" "$dir/points.tsv"
    tr '\t' ',' < "$dir/points.tsv" | tail -n +2 > "$dir/points.csv"
    "$bin/geodec-import" --quiet --coordinates -o "$dir/csv.h5" "$dir/points.csv"
    "$bin/geodec-import" --quiet --coordinates --dataset coordinates -o "$dir/hdf.h5" "$dir/cloud.h5"
    for f in text csv hdf; do
        cmp <("$bin/geodec-table" "$dir/$f.h5" /coordinates) "$dir/points.tsv"
        [ "$(attribute "$dir/$f.h5" source)" = coordinates ]
    done
    n=$(head -1 "$dir/points.tsv" | wc -w)
    [ "$(attribute "$dir/text.h5" k_int)" = "$n" ]
    "$bin/geodec-null" --quiet -o "$dir/null.h5" "$dir/text.h5"
    "$bin/geodec-metric" --quiet --dim 3 -o "$dir/m.h5" "$dir/text.h5"
    "$bin/geodec-metric" --quiet --dim 3 -o "$dir/nm.h5" "$dir/null.h5"
    "$bin/geodec-coverage" --quiet --dim 3 -o "$dir/v.h5" "$dir/text.h5"
    "$bin/geodec-geodesic" --quiet --v0 random -o "$dir/g.h5" "$dir/m.h5"
    run "$bin/geodec-geodesic" -o "$dir/g2.h5" "$dir/m.h5" # no row follows another
    [ "$status" -eq 5 ]
    "$bin/geodec-import" --quiet --coordinates --consecutive -o "$dir/order.h5" "$dir/points.tsv"
    "$bin/geodec-metric" --quiet --dim 3 -o "$dir/mo.h5" "$dir/order.h5"
    "$bin/geodec-geodesic" --quiet -o "$dir/go.h5" "$dir/mo.h5"
}

@test "coordinates from .npy" {
    {
        printf "\\223NUMPY\\001\\000\\100\\000%-63s\\n" "{'descr': '|u1', 'fortran_order': True, 'shape': (36, 2), }"
        printf 'abcdefghijklmnopqrstuvwxyz0123456789' # 36 bytes: the first column
        printf '9876543210zyxwvutsrqponmlkjihgfedcba'
    } > "$dir/bytes.npy"
    "$bin/geodec-import" --quiet --coordinates -o "$dir/npy.h5" "$dir/bytes.npy"
    "$bin/geodec-table" "$dir/npy.h5" /coordinates | awk 'NR == 2 && $1 == 97 && $2 == 57 { a = 1 }
        NR == 37 && $1 == 57 && $2 == 97 { b = 1 } END { exit !(a && b) }'
}

@test "the null of imported coordinates has their mean and covariance" {
    awk 'BEGIN { srand(5); for (i = 0; i < 4000; i++) { a = rand() + rand() + rand() - 1.5; b = rand(); print 10 + a "\t" 3 + a + 0.2 * b } }' > "$dir/line.tsv"
    "$bin/geodec-import" --quiet --coordinates -o "$dir/line.h5" "$dir/line.tsv"
    "$bin/geodec-null" --quiet -o "$dir/line-null.h5" "$dir/line.h5"
    for f in line line-null; do
        "$bin/geodec-table" "$dir/$f.h5" /coordinates | awk 'NR > 1 { n++; x += $1; y += $2; xy += $1 * $2; xx += $1 * $1 }
            END { x /= n; y /= n; print x, y, xy / n - x * y, xx / n - x * x }'
    done > "$dir/moments"
    awk 'NR == 1 { for (i = 1; i <= NF; i++) a[i] = $i } NR == 2 { for (i = 1; i <= NF; i++) if (($i - a[i]) ^ 2 > 0.03 ^ 2) exit 1 }' "$dir/moments"
}

@test "states: the cloud of imported states is that of the export" {
    "$bin/geodec-table" "$dir/a.h5" /state | cut -f 25-48 > "$dir/states.tsv" # the second of two layers of width 24
    "$bin/geodec-import" --quiet --states -o "$dir/acts.h5" "$dir/states.tsv"
    "$bin/geodec-cloud" --quiet --max-points 200 -o "$dir/again.h5" "$dir/acts.h5"
    cmp <("$bin/geodec-table" "$dir/again.h5" /coordinates) "$dir/points.tsv"
}

@test "exports: measured coordinates and figures; noise only on request, and marked" {
    "$bin/geodec-import" -o "$dir/e.h5" "$dir/export"
    [ "$(attribute "$dir/e.h5" measured_dims)" = 3 ]
    [ "$(attribute "$dir/e.h5" published_intrinsic_dim)" = 5 ]
    [ "$(attribute "$dir/e.h5" published_components)" = 6 ]
    [ "$(attribute "$dir/e.h5" published_curvature_nonzero)" = 1 ]
    [ "$(attribute "$dir/e.h5" published_axioms)" = 9 ]
    [ "$("$bin/geodec-table" "$dir/e.h5" /coordinates | head -1 | wc -w)" = 3 ]
    refused 2 "--lift noise" --dim 5 "$dir/export"
    run --separate-stderr "$bin/geodec-import" --dim 5 --lift noise -o "$dir/e5.h5" "$dir/export"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"2 of the 5 coordinates are noise"* ]]
    [ "$(attribute "$dir/e5.h5" measured_dims)" = 3 ]
    cmp <("$bin/geodec-table" "$dir/e5.h5" /coordinates | cut -f 1-3) <("$bin/geodec-table" "$dir/e.h5" /coordinates)
    "$bin/geodec-import" --quiet --dim 5 --lift noise --threads 3 -o "$dir/e5b.h5" "$dir/export"
    cmp "$dir/e5.h5" "$dir/e5b.h5"
    "$bin/geodec-metric" --quiet -o "$dir/em.h5" "$dir/e5.h5"
    "$bin/geodec-published" --quiet metric -o "$dir/emr.h5" "$dir/e5.h5"
    "$bin/geodec-null" --quiet -o "$dir/en.h5" "$dir/e5.h5"
}

@test "exports: one file with all phases, as one document or as several" {
    mkdir -p "$dir/joined"
    cat "$dir"/export/phase*.json > "$dir/joined/manifold_export.json"
    "$bin/geodec-import" --quiet -o "$dir/joined.h5" "$dir/joined"
    { echo '{"format": "v1", "manifold":'; cat "$dir/export/phase1_manifold.json"; echo ', "axioms":'; cat "$dir/export/phase4_axioms.json"; echo '}'; } > "$dir/whole.json"
    "$bin/geodec-import" --quiet -o "$dir/whole.h5" "$dir/whole.json"
    "$bin/geodec-import" --quiet -o "$dir/one.h5" "$dir/export/phase1_manifold.json"
    "$bin/geodec-import" --quiet -o "$dir/folder.h5" "$dir/export"
    for f in joined whole one; do
        cmp <("$bin/geodec-table" "$dir/$f.h5" /coordinates) <("$bin/geodec-table" "$dir/folder.h5" /coordinates)
    done
    [ "$(attribute "$dir/whole.h5" published_axioms)" = 9 ]
    [ "$(attribute "$dir/joined.h5" published_scalar_curvature)" = -2 ]
    [ -z "$(attribute "$dir/one.h5" published_axioms)" ]
}

@test "exports: damaged ones are refused" {
    damaged() { # WORD SED-SCRIPT [FILE]
        local file=${3:-phase1_manifold.json}
        rm -rf "$dir/bad"
        cp -r "$dir/export" "$dir/bad"
        sed -i "$2" "$dir/bad/$file"
        refused 3 "$1" "$dir/bad"
    }
    damaged "sample count" 's/"n_samples": 40/"n_samples": 41/'
    damaged "coordinates" '5s/, [-0-9.]*\],$/],/'
    damaged "not a number" '0,/^\[\([-0-9.]*\)/s//["\1"/'
    damaged "n_samples" 's/"n_samples": 40/"n_samples": 40.5/'
    damaged "belong together" 's/"pca_components": 6/"pca_components": 7/'
    damaged "belong together" 's/"intrinsic_dim": 5/"intrinsic_dim": 500/'
    damaged "belong together" 's/17.5/-17.5/'
    damaged "eigenvalue 1" 's/\[9, 4/[9, 14/'
    damaged "eigenvalue 5" 's/0.25\]/-0.25]/'
    damaged "eigenvalues" 's/\[9, 4, 2, 1, 0.5, 0.25\]/[9]/'
    damaged "'cloud'" 's/"cloud"/"clouds"/'
    damaged "model_name" 's/"model_name"/"name"/'
    damaged "phase1_manifold.json" '$d'
    damaged "real number" 's/17.5/1e999/'
    damaged "R" 's/"R": -2/"S": -2/' phase3_curvature.json
    damaged "dim" 's/"dim": 5/"dim": "five"/' phase3_curvature.json
    damaged "axiom_count" 's/9/-9/' phase4_axioms.json
    rm -rf "$dir/bad"
    mkdir "$dir/bad"
    refused 1 "neither" "$dir/bad"
    yes '[' | head -100 | tr -d '\n' > "$dir/bad/phase1_manifold.json"
    refused 3 "deep" "$dir/bad"
    echo '{"phase": 7}' > "$dir/bad/phase1_manifold.json"
    refused 3 "no phase 1" "$dir/bad"
}

@test "matrices: damaged and ambiguous ones are refused" {
    printf '\223NUMPY\001\000\020\000{nonsense}      ' > "$dir/bad.npy"
    refused 3 "descr" --coordinates "$dir/bad.npy"
    printf '1\t2\n3\n' > "$dir/ragged.tsv"
    refused 3 "ragged.tsv:2" --coordinates "$dir/ragged.tsv"
    head -c 3000 "$dir/cloud.h5" > "$dir/cut.h5"
    refused 3 "not an HDF5 file" --coordinates --dataset coordinates "$dir/cut.h5"
    refused 1 "no dataset" --coordinates --dataset nowhere "$dir/cloud.h5"
    refused 3 "rank 1" --coordinates --dataset row "$dir/cloud.h5"
    head -20 "$dir/points.tsv" > "$dir/few.tsv"
    refused 5 "needs at least 32" --coordinates "$dir/few.tsv"
    refused 2 "--coordinates or --states" "$dir/points.tsv"
    refused 2 "--coordinates or --states" --coordinates --states "$dir/points.tsv"
    refused 2 "columns" --coordinates --dim 999 "$dir/points.tsv"
    refused 2 "--dataset" --coordinates --format hdf5 "$dir/cloud.h5"
    refused 2 "--lift" --coordinates --lift noise "$dir/points.tsv"
    refused 1 "no such" --coordinates "$dir/none.tsv"
}

@test "the public exports" {
    compared=0
    for model in "$golden"/exports/*; do
        "$bin/geodec-import" --quiet --force -o "$dir/p.h5" "$model"
        "$bin/geodec-import" --quiet --force -o "$dir/q.h5" "$model/manifold_export.json"
        cmp <("$bin/geodec-table" "$dir/p.h5" /coordinates) <("$bin/geodec-table" "$dir/q.h5" /coordinates)
        name=$(basename "$model")
        for cloud in "$golden/${name}"_n[0-9]*.h5; do
            [ -e "$cloud" ] || continue # the subset has one model's
            compared=$((compared + 1))
            "$bin/geodec-import" --quiet --force --coordinates --dataset cloud/raw3 -o "$dir/r.h5" "$cloud"
            cmp <("$bin/geodec-table" "$dir/p.h5" /coordinates) <("$bin/geodec-table" "$dir/r.h5" /coordinates)
        done
    done
    [ "$compared" -gt 0 ]
}

@test "safetensors: shards of geodec-export come back as the activations they are; what does not fit is refused" {
    model=data/model/geodec-stories-f16.gguf
    "$bin/geodec-corpus" --quiet --seed 5 --stories 8 -o "$dir/t.txt"
    export=("$bin/geodec-export" --quiet --model "$model" --text "$dir/t.txt" --layers 0,2,last --max-tokens 200 --window 64)
    "${export[@]}" -o "$dir/export.h5"
    "${export[@]}" --format safetensors --shard-tokens 70 -o "$dir/shards"
    [ "$(ls "$dir/shards"/*.safetensors | wc -l)" -ge 2 ]
    "$bin/geodec-import" --quiet --states -o "$dir/back.h5" "$dir/shards"
    run "$bin/geodec-diff" "$dir/back.h5" "$dir/export.h5"
    [ "$status" -eq 4 ]
    [ "$(awk -F'\t' '$2 == "values" { print $1 }' <<< "$output" | tr '\n' ' ')" = "n_vocab n_ctx " ]
    [ "$(awk -F'\t' '$2 == "only in B" && $1 ~ /^\// { print $1 }' <<< "$output" | tr '\n' ' ')" = "/argmax /top_index /top_logit " ]
    [ "$(attribute "$dir/back.h5" tensors)" = "layer.0,layer.2,layer.6" ]
    "$bin/geodec-cloud" --quiet --layer 2 -o "$dir/cloud2.h5" "$dir/back.h5"
    refused 2 "give --states" "$dir/shards"
    refused 2 "not for safetensors" --states --dim 3 "$dir/shards"
    refused 1 "no tensor layer.9" --states --tensors layer.9 "$dir/shards"
    first=$(ls "$dir/shards"/*.safetensors | head -n 1)
    head -c 3000 "$first" > "$dir/cut.safetensors"
    refused 3 "cut.safetensors" --states "$dir/cut.safetensors"
}

@test "safetensors: a tensor that may be a mask and was not used is named" {
    header='{"layer.0":{"dtype":"F16","shape":[4,2],"data_offsets":[0,16]},"loss_mask":{"dtype":"BOOL","shape":[4],"data_offsets":[16,20]}}'
    { printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"; printf 'abcdefghijklmnop\1\1\0\1'; } > "$dir/mask.safetensors"
    run --separate-stderr "$bin/geodec-import" --states -o "$dir/mask.h5" "$dir/mask.safetensors"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"loss_mask may be a mask and was not used"* && "$stderr" == *"4 states"* ]]
    run --separate-stderr "$bin/geodec-import" --force --states --mask loss_mask -o "$dir/mask.h5" "$dir/mask.safetensors"
    [[ "$stderr" == *"1 of 4 rows left out by the mask loss_mask"* && "$stderr" != *"not used"* ]]
}
