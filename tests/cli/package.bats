#!/usr/bin/env bats
# The release: versions, tarball, symbols; installed tools find the embedded model and run the pipeline. `make release-check` and `make check-package` have the
# long checks.
# alone: it installs from the build folder

bats_require_minimum_version 1.5.0
load ../root

setup() {
    profile=$(basename "$B")
}

@test "VERSION, NEWS.md, debian/changelog and the soname agree, and a difference is found" {
    scripts/versions
    cp -r VERSION NEWS.md debian mk scripts "$tmp"
    echo 9.0.0 > "$tmp/VERSION"
    run "$tmp/scripts/versions"
    [ "$status" -eq 1 ]
    [[ "$output" == *"NEWS.md is not 9.0.0"*"debian/changelog is not 9.0.0"*"libgeodec9"* ]]
}

@test "Build-Depends are the packages of packages.txt, and a difference is found" {
    scripts/build-depends
    mkdir "$tmp/scripts" "$tmp/debian"
    cp scripts/build-depends "$tmp/scripts"
    cp debian/control "$tmp/debian"
    grep -v '^build zlib1g-dev' packages.txt > "$tmp/packages.txt"
    run "$tmp/scripts/build-depends"
    [ "$status" -eq 1 ]
    [[ "$output" == *"> zlib1g-dev"* ]]
}

@test "the tarball has the same bytes for the same files, whatever their modes and times, and has no outputs" {
    scripts/dist "$tmp/a.tar"
    tar -tf "$tmp/a.tar" > "$tmp/list"
    name=geodec-$(cat VERSION)
    for f in Makefile VERSION debian/control libcommon/core/base/version.c data/model/geodec-stories-f16.gguf tests/package/bare-root pipelines/run; do
        grep -qx "$name/$f" "$tmp/list" || { echo "no $f"; false; }
    done
    ! grep -v "^$name/" "$tmp/list" || false
    ! grep -E "^$name/(build|results|\.git)/|\.o$" "$tmp/list" || false
    LC_ALL=C sort -c "$tmp/list"
    # Unpacked, without git, with other modes and times, and after a build.
    mkdir "$tmp/unpacked"
    tar -xf "$tmp/a.tar" -C "$tmp/unpacked"
    chmod -R go-rwx "$tmp/unpacked"
    touch "$tmp/unpacked/$name/VERSION"
    mkdir -p "$tmp/unpacked/$name/build/x" "$tmp/unpacked/$name/results/y"
    touch "$tmp/unpacked/$name/build/x/z" "$tmp/unpacked/$name/results/y/z"
    (cd "$tmp/unpacked/$name" && GIT_CEILING_DIRECTORIES=$tmp scripts/dist "$tmp/b.tar")
    cmp "$tmp/a.tar" "$tmp/b.tar"
}

@test "every exported symbol has the version of the soname" {
    major=$(cut -d. -f1 VERSION)
    so=$B/lib/libgeodec.so.$major
    readelf -d "$so" | grep -q "SONAME.*\[libgeodec.so.$major\]"
    nm -D --defined-only "$so" | awk '$2 != "A" {print $3}' > "$tmp/symbols"
    [ "$(wc -l < "$tmp/symbols")" -gt 100 ]
    [ "$(wc -l < "$tmp/symbols")" -le 170 ]
    [ -z "$(grep -v "@@GEODEC_$major\$" "$tmp/symbols")" ]
}

@test "only the variants that the dispatcher chooses have instructions beyond those of every x86-64" {
    [ "$(uname -m)" = x86_64 ] && [ "$profile" = release ] || skip "a release build for x86-64"
    # read_limit.c has functions of its own for each instruction set.
    find "$B/obj/libcommon" "$B/obj/tools" -name '*.o' ! -name '*_avx2.o' ! -name '*_avx512.o' ! -name '*_vnni.o' ! -name '*_ifma.o' \
        ! -name '*_vbmi.o' ! -name read_limit.o > "$tmp/objects"
    [ "$(wc -l < "$tmp/objects")" -gt 300 ]
    [ "$(xargs -n 50 objdump -d --no-show-raw-insn < "$tmp/objects" | grep -cE '%[yz]mm|%k[1-7]')" = 0 ]
}

@test "geodec model-path prints the embedded models" {
    path=$("$bin/geodec" model-path)
    [ "$path" = "$PWD/data/model/geodec-stories-f16.gguf" ]
    [ "$("$bin/geodec-model-path" geodec-mixture-f16)" = "$PWD/data/model/geodec-mixture-f16.gguf" ]
    [ "$("$bin/geodec-model-path" --all)" = "$(ls -d "$PWD"/data/model/*.gguf)" ]
    [ "$("$bin/geodec-model-path" --folder)" = "$PWD/data" ]
    run --separate-stderr "$bin/geodec-model-path" absent
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"no embedded model 'absent'"* ]]
    run "$bin/geodec-model-path" ../model/geodec-mixture-f16
    [ "$status" -eq 2 ]
    run "$bin/geodec-model-path" --all geodec-mixture-f16
    [ "$status" -eq 2 ]
}

@test "decode without --model uses the embedded model and says so" {
    run --separate-stderr "$bin/geodec-decode" -p Once -n 12 --artifacts none --report "$tmp/report.json"
    [ "$status" -eq 0 ]
    [ "$stderr" = "geodec-decode: the embedded model geodec-stories-f16.gguf" ]
    [ "$output" = "$("$bin/geodec-decode" --quiet --model data/model/geodec-stories-f16.gguf -p Once -n 12 --artifacts none)" ]
    grep -q -- '--model=geodec-stories-f16.gguf' "$tmp/report.json"
    # The measuring tools have no default.
    run --separate-stderr "$bin/geodec-export" --text README.md -o "$tmp/x.h5"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--model is required"* ]]
}

@test "an installation that was moved finds its model, runs the pipeline, and names what is missing" {
    make -s PROFILE="$profile" install PREFIX=/opt/geodec DESTDIR="$tmp/root" > /dev/null
    mv "$tmp/root/opt/geodec" "$tmp/moved"
    mkdir "$tmp/a folder"
    cd "$tmp/a folder"
    geodec=$tmp/moved/bin/geodec
    [ "$("$geodec" model-path)" = "$tmp/moved/share/geodec/model/geodec-stories-f16.gguf" ]
    ln -s "$geodec" "$tmp/geodec"
    [ "$("$tmp/geodec" model-path)" = "$tmp/moved/share/geodec/model/geodec-stories-f16.gguf" ]
    "$geodec" pipeline --quick plan > plan
    grep -q '^width	128' plan
    [ -s results/geodec-stories-f16-quick/plan.tsv ]
    # Names of the user are relative to the current folder.
    cp "$("$geodec" model-path)" 'my model.gguf'
    cp results/geodec-stories-f16-quick/text.txt 'a text.txt'
    "$geodec" pipeline --quick plan 'MODEL=my model.gguf' 'TEXT=a text.txt' TOKENS=500 > plan
    grep -q '^tokens	500' plan
    [ -s results/my_model-*-quick/plan.tsv ]
    run "$geodec" pipeline --nonsense
    [ "$status" -eq 2 ]
    run "$geodec" pipeline MODEL=absent.gguf
    [ "$status" -ne 0 ]
    [[ "$output" == *"absent.gguf"* ]]
    rm "$tmp"/moved/share/geodec/model/geodec-stories-f16.gguf
    [ ! -e /usr/local/share/geodec/model/geodec-stories-f16.gguf ] || skip "another installation has a model"
    run --separate-stderr "$geodec" decode -p Once
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"without --model: no embedded model geodec-stories-f16.gguf in $tmp/moved/bin/../share/geodec/model"* ]]
    run "$geodec" pipeline
    [ "$status" -eq 1 ]
}
