#!/usr/bin/env bats
# make moe: its texts from a small tree of packages, and a small mixture from given texts.

bats_require_minimum_version 1.5.0
load ../root

entries() { # entries WORD N: a dictionary after its notice
    printf '00-database-info\n   a notice\n\n'
    case $1 in
        gcide) printf 'A \\A\\ (named [=a]), the first letter\n\n' ;;
        foldoc) printf 'Free On-line Dictionary of Computing\n\n' ;;
        jargon) printf '/dev/null\n\n' ;;
        devil) printf 'ABASEMENT, n.\n\n' ;;
    esac
    for i in $(seq "$2"); do
        printf '%s number %d\n   A meaning of the word %d, with an explanation of more than sixty characters.\n   [1913 Webster]\n\n' "$1" "$i" "$i"
    done
}

tree() { # the files that the sources read
    root=$tmp/folder/root
    mkdir -p "$root/usr/share/dictd" "$root/usr/share/games/fortunes" "$root/usr/bin" "$root/usr/share/perl/5/pod" "$root/usr/share/doc/debian-policy" \
        "$root/usr/share/developers-reference/_sources"
    for d in gcide foldoc jargon devil; do entries $d 900 | gzip -n > "$root/usr/share/dictd/$d.dict.dz"; done
    for i in $(seq 300); do printf 'A saying of some length about number %d.\r\nIt has a \tsecond line.\n%%\n' "$i"; done > "$root/usr/share/games/fortunes/sayings"
    printf 'not UTF-8: \xff\xfe, and a bell \a here\n%%\n' >> "$root/usr/share/games/fortunes/sayings"
    printf 'binary' > "$root/usr/share/games/fortunes/sayings.dat"
    printf '#!/bin/sh\nfor i in $(seq 200); do echo "Ge1:$i And it came to pass in the days of verse $i, that they went up."; done\n' > "$root/usr/bin/bible"
    chmod +x "$root/usr/bin/bible"
    printf '=head1 NAME\n\nperlx - the B<bold> and C<code> of it\n\n=cut\n' > "$root/usr/share/perl/5/pod/perlx.pod"
    printf 'A table of contents\n' > "$root/usr/share/perl/5/pod/perltoc.pod"
    printf 'Packages must have a copyright file.\n' | gzip -n > "$root/usr/share/doc/debian-policy/policy.txt.gz"
    printf 'Developers read this.\n' > "$root/usr/share/developers-reference/_sources/index.rst.txt"
}

@test "texts of packages: deterministic, divided by document, without notices, marks and repeated paragraphs" {
    tree
    pipelines/collect-text make "$tmp/folder" 2>/dev/null
    cp -r "$tmp/folder" "$tmp/again"
    pipelines/collect-text make "$tmp/again" 2>/dev/null
    for f in train.txt held-out.txt sources.tsv; do cmp "$tmp/folder/$f" "$tmp/again/$f"; done
    cat "$tmp/folder/train.txt" "$tmp/folder/held-out.txt" > "$tmp/all.txt"
    iconv -f UTF-8 -t UTF-8 "$tmp/all.txt" > /dev/null
    [ -z "$(LC_ALL=C grep '[[:cntrl:]]' "$tmp/all.txt")" ]
    [ -z "$(grep -E 'notice|1913 Webster|contents|=head1|B<|^Ge1' "$tmp/all.txt")" ]
    for word in 'gcide number' 'devil number 900$' 'A saying' 'verse 200' 'the bold and code' 'copyright file' 'Developers read' 'a bell  here'; do
        grep -q "$word" "$tmp/all.txt"
    done
    # an entry occurs once, in one of the texts; of gcide only a share
    [ -z "$(grep -hE ' number [0-9]+$' "$tmp/all.txt" | sort | uniq -d)" ]
    grep -qE ' number [0-9]+$' "$tmp/folder/held-out.txt"
    n=$(grep -c '^gcide number' "$tmp/all.txt")
    [ "$n" -gt 150 ]
    [ "$n" -lt 600 ]
    [ "$(grep -c '^devil number' "$tmp/all.txt")" -eq 900 ]
    # bytes of the table: those of the texts without the marks
    awk -F '\t' 'NR > 1 {d += $2; b += $3 + $4} END {print d, b}' "$tmp/folder/sources.tsv" > "$tmp/sums"
    [ "$(cat "$tmp/sums")" = "$(grep -cx '<|endoftext|>' "$tmp/all.txt") $(grep -vx '<|endoftext|>' "$tmp/all.txt" | wc -c)" ]
    COLLECT_SEED=2 pipelines/collect-text make "$tmp/again" 2>/dev/null
    ! cmp -s "$tmp/folder/held-out.txt" "$tmp/again/held-out.txt" || false
}

@test "texts of packages: a missing package ends the run, and the old texts stay" {
    tree
    pipelines/collect-text make "$tmp/folder" 2>/dev/null
    rm "$tmp/folder/root/usr/share/dictd/foldoc.dict.dz"
    cp "$tmp/folder/train.txt" "$tmp/before.txt"
    run pipelines/collect-text make "$tmp/folder"
    [ "$status" -ne 0 ]
    [[ "$output" == *foldoc.dict.dz* ]]
    cmp "$tmp/before.txt" "$tmp/folder/train.txt"
    run pipelines/collect-text
    [ "$status" -eq 2 ]
}

@test "make moe with given texts: the mixture learns, the report has the controls, and a second make does nothing" {
    "$bin/geodec-corpus" -q --stories 400 -o "$tmp/train.txt"
    "$bin/geodec-corpus" -q --stories 20 --first 400 -o "$tmp/held-out.txt"
    small() { make -s QUICK=1 MOE_STEPS=40 MOE="$tmp/moe" MOE_TEXT="$tmp/train.txt" MOE_HELD_OUT="$tmp/held-out.txt" "$@"; }
    small moe 2>/dev/null
    report=$tmp/moe/report.tsv
    # better than the frequencies of bytes, in all of the layers' rows a control
    awk -F '\t' '$4 == "byte frequencies" {seen = 1; if ($2 >= $3) exit 1} $4 == "best byte n-gram" {best = 1} END {exit !(seen && best)}' "$report"
    [ "$(grep -c '^gini_layer_.*random choice$' "$report")" -eq 3 ]
    "$bin/geodec-model-info" "$tmp/moe/mixture-f16.gguf" | grep -qP '^experts\t8$'
    [[ "$(small moe 2>&1)" != *RUN* ]]
    small moe-control 2>/dev/null
    grep -q 'dense model of the same active size$' "$report"
    run small moe MOE_HELD_OUT=
    [ "$status" -ne 0 ]
    [[ "$output" == *"given together"* ]]
}
