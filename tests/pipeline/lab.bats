#!/usr/bin/env bats
# An experiment is one folder of pipelines/lab: a new one is added to a scratch copy of the tree.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    profile=$(basename "$B")
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"
    cp -r Makefile VERSION mk pipelines "$tree"
    for f in libcommon tools tests scripts data docs build packages.txt; do ln -s "$PWD/$f" "$tree/$f"; done
    cd "$tree" || return 1
    new=pipelines/lab/novel
    mkdir "$new"
    cat > "$new/novel.mk" <<'END'
LAB_FIGURES += novel
$(F)/novel.tsv: data/model/losscurve.h5 FORCE
	@$(table) $< 'SELECT tokens, held_out_bits_per_byte - @floor_bits_per_byte AS above FROM t' > $(out)
$(eval $(call figure,novel,$(F)/novel.tsv,tsv='$(F)/novel.tsv'))
.PHONY: novel
novel: $(F)/novel.svg
END
    printf '%s\n' "load plots.'/style.gp'" "plot tsv using 1:2 skip 1 with lines" > "$new/plot.gp"
    printf 'novel\tA novel figure\tWhat is above the floor.\n' > "$new/caption.tsv"
    head -n 1 pipelines/lab/warp/claims.tsv > "$new/claims.tsv"
}

@test "a new folder has its goal, figure, caption and claims" {
    make -s PROFILE="$profile" R="$BATS_TEST_TMPDIR/r" novel
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/r/fig/novel.tsv")" = $'tokens\tabove' ]
    grep -q '<svg' "$BATS_TEST_TMPDIR/r/fig/novel.svg"
    for list in LAB_FIGURES CAPTIONS CLAIM_ROWS; do
        # shellcheck disable=SC2016
        run make -s --eval 'show: ; @echo $('$list')' show
        [[ " $output " == *novel* ]]
    done
    # without the folder there is no such goal
    rm -r "$new"
    run make -s PROFILE="$profile" R="$BATS_TEST_TMPDIR/r" novel
    [ "$status" -ne 0 ]
}

@test "the name of a folder is not another goal; each figure has a caption and a script" {
    # shellcheck disable=SC2016
    figures=$(make -s --eval 'show: ; @echo $(FIGURES)' show)
    [ "$(wc -w <<< "$figures")" -gt 30 ]
    for f in $figures; do
        cat pipelines/report/captions.tsv pipelines/lab/*/caption.tsv | cut -f 1 | grep -qx "$f"
        # shellcheck disable=SC2016
        [ -f "$(make -s --eval 'show: ; @echo $(call script,'"$f"')' show)" ]
    done
    for d in pipelines/lab/*/; do
        name=$(basename "$d")
        [ -f "$d$name.mk" ]
        if grep -hE "^$name *:" Makefile mk/*.mk; then false; fi
    done
}
