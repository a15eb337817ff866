# For .bats files: `load golden`. Finds the folder of the published figures: the full set of the shared folder if it exists,
# otherwise the subset of the repository (tests/golden/README.md).
golden_folder() {
    local full=${GEODEC_SHARED:-../shared}/golden/ott
    if [ -d "$full" ]; then echo "$full"; else echo "$BATS_TEST_DIRNAME/../golden/published"; fi
}
