#!/usr/bin/env bats
# geodec-experts: simulation of traces, plans, generated traffic.
bats_require_minimum_version 1.5.0
load ../root

setup() {
    d=$BATS_TEST_TMPDIR
}

traffic() { "$bin/geodec-experts" -q traffic --layers 4 --experts 16 --used 2 --passes 400 --slots 24 "$@"; }

@test "traffic is the same again with the same seed, and another with another" {
    traffic -o "$d/a.trace"
    traffic -o "$d/b.trace" --threads 1
    traffic -o "$d/c.trace" --seed 2
    cmp "$d/a.trace" "$d/b.trace"
    run cmp -s "$d/a.trace" "$d/c.trace"
    [ "$status" -eq 1 ]
}

@test "simulate replays, and prints a row for each policy and number of slots; none is above the bound" {
    traffic --zipf 1 -o "$d/a.trace"
    run --separate-stderr "$bin/geodec-experts" simulate "$d/a.trace" --slots 8,24,64
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"the replay equals the run in every counter"* ]]
    echo "$output" > "$d/t.tsv"
    [ "$(sed 1d "$d/t.tsv" | wc -l)" -eq 21 ]
    [ "$(awk -F'\t' 'NF != 14' "$d/t.tsv" | wc -l)" -eq 0 ]
    awk -F'\t' 'NR > 1 && $7 < $9 { bad = 1 } END { exit bad }' "$d/t.tsv"
    # with room for all, only the first use of an expert is missed
    awk -F'\t' '$2 == 64 && $7 > 64 / 3200 + 1e-4 { bad = 1 } END { exit bad }' "$d/t.tsv"
}

@test "without prefetch the simulated time is the closed form; an oracle stalls less" {
    traffic -o "$d/a.trace"
    "$bin/geodec-experts" -q simulate "$d/a.trace" --policy lru --bandwidth 2500 --compute 2 --latency 0.2 > "$d/none.tsv"
    "$bin/geodec-experts" -q simulate "$d/a.trace" --policy lru --bandwidth 2500 --compute 2 --latency 0.2 --ahead 1 > "$d/one.tsv"
    awk -F'\t' 'NR == 2 { t = 1000 / $14; exit !(t > $12 - 0.01 && t < $12 + 0.01) }' "$d/none.tsv"
    [ "$(awk -F'\t' 'NR == 2 { print $11 }' "$d/one.tsv" | cut -d. -f1)" -lt "$(awk -F'\t' 'NR == 2 { print $11 }' "$d/none.tsv" | cut -d. -f1)" ]
}

@test "a usage table of other experts is refused" {
    traffic -o "$d/a.trace"
    run --separate-stderr "$bin/geodec-experts" simulate "$d/a.trace" --usage tests/fuzz/corpus/usage/three-layers
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"3 layers of 8 experts; the trace has 4 of 16"* ]]
}

@test "plan prints the table of the specification" {
    run --separate-stderr "$bin/geodec-experts" plan --bandwidth 2500
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 26 ]
    awk -F'\t' '$1 == "Mixtral-8x7B Q4_0" && $5 == 0.5 { exit !($9 > 0.785 && $9 < 0.795) }' <<< "$output"
    awk -F'\t' '$1 == "OLMoE-1B-7B Q4_0" && $5 == 0 { exit !($9 > 5.45 && $9 < 5.55 && $6 == 0.453) }' <<< "$output"
}

@test "refusals: commands, policies, files" {
    run --separate-stderr "$bin/geodec-experts" nonsense
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"no command 'nonsense'"* ]]
    run "$bin/geodec-experts" simulate
    [ "$status" -eq 2 ]
    run "$bin/geodec-experts" simulate "$d/none.trace"
    [ "$status" -eq 1 ]
    traffic -o "$d/a.trace"
    run --separate-stderr "$bin/geodec-experts" simulate "$d/a.trace" --policy lru,best
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"no policy 'best'"* ]]
    run "$bin/geodec-experts" simulate "$d/a.trace" --slots 1
    [ "$status" -eq 2 ]
    head -c 3000 "$d/a.trace" > "$d/cut.trace"
    run --separate-stderr "$bin/geodec-experts" simulate "$d/cut.trace"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"cut.trace"* ]]
    run "$bin/geodec-experts" traffic --used 9 --experts 8 -o "$d/x.trace"
    [ "$status" -eq 2 ]
    run traffic -o "$d/a.trace"
    [ "$status" -eq 1 ]
    [ ! -e "$d/x.trace" ]
    [ -z "$(find "$d" -name '.*.tmp')" ]
}

# A run of 100 tokens, 2 layers with 2 experts used: 400 uses, 200 of them in memory; 1 MB an expert, 100 MB/s.
report() {
    cat << END
{"model": "m", "experts": {"slots": 8, "slot_bytes": 1000000, "blobs": 16, "routed_layers": 2, "experts_used": 2, "rows": 100, "needed": 400, "resident": 200,
  "in_time": 60, "late": 40, "missed": 100, "demand_reads": 140, "prefetch_reads": 110, "wasted": 50, "bytes_read": 250000000,
  "throttle": 100000000, "pass_seconds": 3, "stall_seconds": 2.2, "disk_bytes_per_second": 9e7, "timeline": {"passes_each": 50,
  "rows": [50, 50], "bytes_read": [150000000, 100000000], "seconds": [1, 2], "stall_seconds": [0.7, 1.5]}}}
END
}

@test "forecast prints the closed form of a report; its machine can be another" {
    report > "$d/r.json"
    run --separate-stderr "$bin/geodec-experts" forecast "$d/r.json"
    [ "$status" -eq 0 ]
    # a layer: 1 miss of 10 ms, 4 ms of computing, half foretold, a quarter wasted
    awk -F'\t' 'NR == 2 { exit !($1 == "r.json" && $4 == 0.5 && $5 == 0.5 && $6 == 0.25 && $8 == 2 && $10 == 8 && $12 == 33.333 &&
        $13 == 35.714 && $14 == 50 && $15 == 40 && $16 == 50) }' <<< "$output"
    run --separate-stderr "$bin/geodec-experts" forecast --bandwidth 1000 --compute 10 --rest 5 "$d/r.json" "$d/r.json"
    [ "${#lines[@]}" -eq 3 ]
    awk -F'\t' 'NR == 3 { exit !($10 == 25 && $13 == 37.037 && $14 == 40 && $16 == 500) }' <<< "$output"
}

@test "timeline prints the points of a report" {
    report > "$d/r.json"
    run --separate-stderr "$bin/geodec-experts" timeline "$d/r.json"
    [ "$status" -eq 0 ]
    [ "${lines[2]}" = $'3.000000\t100\t50\t40.0000\t30.0000\t2.0000' ]
    report | sed 's/"seconds": \[1, 2\]/"seconds": [1]/' > "$d/short.json"
    run --separate-stderr "$bin/geodec-experts" timeline "$d/short.json"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"short.json: timeline: 'seconds' is no list of 2"* ]]
    echo '{"model": "m"}' > "$d/none.json"
    for command in forecast timeline; do
        run --separate-stderr "$bin/geodec-experts" "$command" "$d/none.json"
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"none.json: no report of streamed experts"* ]]
    done
}

@test "probe measures direct reads of a file; a file smaller than a read is refused" {
    head -c 8388608 /dev/zero > "$d/blob"
    run --separate-stderr "$bin/geodec-experts" probe "$d/blob" --blob 100000 --seconds 0.05 --in-flight 2
    [ "$status" -eq 0 ]
    awk -F '\t' '{ v[$1] = $2 } END { exit !(v["MB_second"] > 0 && v["reads"] >= 1 && v["bytes"] == v["reads"] * 102400) }' <<< "$output"
    run --separate-stderr "$bin/geodec-experts" probe "$d/blob" --blob 16777216
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"smaller than one read"* ]]
}
