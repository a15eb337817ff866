# For .bats files: `load golden`. The folder of the published figures: the full set of the shared folder where that is there,
# else the subset of the repository (tests/golden/README.md).
golden_folder() {
    local full=${GEODEC_SHARED:-../shared}/golden/ott
    if [ -d "$full" ]; then echo "$full"; else echo "$BATS_TEST_DIRNAME/../golden/published"; fi
}
