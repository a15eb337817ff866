# For .bats files: `load blocked`. Programs whose output waits for its reader.

# until_true SECONDS COMMAND...: waits for an event, because a fixed time may be too short on a busy machine.
until_true() {
    local left=$(($1 * 20))
    shift
    until "$@"; do
        ((left-- > 0)) || { echo "never: $*"; return 1; }
        sleep 0.05
    done
}

# A program that runs the rest of its arguments with a pipe of one page as output, after its number is in the file of the first.
# shellcheck disable=SC2034 # for the files that load this one
small_pipe='fcntl(STDOUT, 1031, 4096) or die "F_SETPIPE_SZ: $!"; open(P, ">", shift) or die; print P $$; close P; exec @ARGV'

# blocked FILE: the process whose number is in FILE has filled that pipe and waits.
blocked() {
    local pid
    pid=$(cat "$1" 2> /dev/null) && [ -n "$pid" ] || return 1
    grep -q "^State:.S" "/proc/$pid/status" || return 1
    [ "$(sed -n "s/wchar: //p" "/proc/$pid/io")" -gt 3500 ]
}
