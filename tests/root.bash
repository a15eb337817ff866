# For .bats files: `load ../root`. The tests, setup and setup_file of the file then run in the root of the tree. (The recipes of
# tests/pipeline/extending-*.bats work in a copy of the tree: scratch.bash.)
cd "$BATS_TEST_DIRNAME/../.." || return 1
B=${B:-build/release} # the folder of the build
export bin=$PWD/$B/bin # its tools
tmp=${BATS_TEST_TMPDIR-} # the folder of the test; none in setup_file
# `run --separate-stderr` of bats asks for a file each time; one of the test serves them all, without a process.
mktemp() {
    case ${1-} in
        */separate-stderr-XXXXXX) : > "$tmp/separate-stderr" && echo "$tmp/separate-stderr" ;;
        *) command mktemp "$@" ;;
    esac
}
