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

# program_rows FROM TO: the rows that depend on neither model nor text, from the results of another run, if it is there. A stage compares contents, so
# whatever does depend on them is made again.
program_rows() {
    local part
    [ -d "$1" ] || return 0
    mkdir -p "$2"
    for part in streaming perspective integer; do [ ! -d "$1/$part" ] || cp -a "$1/$part" "$2/"; done
}
