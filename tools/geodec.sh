#!/bin/sh
# geodec STAGE [ARGUMENTS]: runs geodec-STAGE from the folder of this file, or else from PATH. The build inserts the list
# of stages, from the tables that the tools print (--options).
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
usage() {
    cat <<'END'
Usage: geodec STAGE [ARGUMENTS]
Runs the tool geodec-STAGE.
@STAGES@

'geodec STAGE --help' describes a stage.
END
}
case ${1-} in
    ''|-h|--help) usage; if [ $# -eq 0 ]; then exit 2; fi; exit 0 ;;
    --version) echo "geodec (geodec) @VERSION@"; exit 0 ;;
    -*|*/*) echo "geodec: '$1' is not a stage; see geodec --help" >&2; exit 2 ;;
esac
stage=$1
shift
if [ -x "$here/geodec-$stage" ]; then exec "$here/geodec-$stage" "$@"; fi
if command -v "geodec-$stage" >/dev/null 2>&1; then exec "geodec-$stage" "$@"; fi
echo "geodec: no stage '$stage'; see geodec --help" >&2
exit 2
