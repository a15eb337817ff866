# A scratch copy of the tree for the recipes of docs/extending.md: the tracked files, and the objects of the release build,
# so that only the files that a recipe changes are compiled.

# scratch_possible: whether there can be a copy; says why not
scratch_possible() {
    local b=${B:-build/release}
    [ "$b" = build/release ] || { echo "the scratch copy takes the objects of the release build"; return 1; }
    [ -d "$BATS_TEST_DIRNAME/../../$b/obj" ] || { echo "nothing is built in $b"; return 1; }
}

# skip_without_scratch: for setup; a skip in setup_file counts as a failure
skip_without_scratch() {
    local why
    why=$(scratch_possible) || skip "$why"
}

# scratch_tree: makes the copy, and sets B, root, tree and bin.
scratch_tree() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    B=${B:-build/release}
    export B root=$PWD tree=$BATS_FILE_TMPDIR/tree
    export bin=$tree/$B/bin
    mkdir -p "$tree/$B/lib" "$bin"
    git ls-files -z | tar -cf - --null -T - | tar -xf - -C "$tree"
    [ ! -e mk/config.mk ] || cp -p mk/config.mk "$tree/mk/"
    cp -p build/.packages-build "$tree/build/"
    cp -al "$B/obj" "$tree/$B/" 2>/dev/null || cp -a "$B/obj" "$tree/$B/"
    cp -p "$B/lib/libgeodeccli.a" "$B/tools.tsv" "$tree/$B/lib/"
    mv "$tree/$B/lib/tools.tsv" "$tree/$B/"
    cd "$tree" || return 1
}

# forget FILE...: removes the objects that were made from these files, so that nothing is written through a hard link.
forget() {
    for f in "$@"; do
        grep -rlF --include='*.d' "$f" "$B/obj" | sed 's/\.d$//' | while read -r object; do rm -f "$object.o" "$object.d"; done
    done
}

# build TARGET...: builds quietly, and prints the whole log on a failure.
build() { make -s "$@" >"$BATS_FILE_TMPDIR/make.log" 2>&1 || { cat "$BATS_FILE_TMPDIR/make.log"; return 1; }; }

# sums FOLDER: checksum, size and name of its files that are tracked in the tree
sums() { (cd "$root" && git ls-files -z) | (cd "$1" && xargs -0 cksum 2>/dev/null) | LC_ALL=C sort; }
# changed: lists the tracked files that differ in the copy or are not there.
changed() { LC_ALL=C comm -23 <(sums "$root") <(sums "$tree") | cut -d ' ' -f 3-; }
# touched: these, and the new ones.
touched() {
    changed
    (cd "$tree" && find docs libcommon mk pipelines scripts tests tools -type f) | while read -r f; do [ -e "$root/$f" ] || echo "$f"; done
}

# insert_before PATTERN FILE LINE...: inserts the lines before the first line that matches.
insert_before() {
    local pattern=$1 file=$2
    shift 2
    printf '%s\n' "$@" >"$BATS_FILE_TMPDIR/lines"
    awk -v pattern="$pattern" -v lines="$BATS_FILE_TMPDIR/lines" '
        !done && $0 ~ pattern { while ((getline line < lines) > 0) print line; done = 1 }
        { print }
        END { exit !done }' "$file" >"$BATS_FILE_TMPDIR/edited"
    cat "$BATS_FILE_TMPDIR/edited" >"$file"
}
