#!/bin/sh
# geodec STAGE [ARGUMENTS]: runs geodec-STAGE from the folder of this file, or else from PATH; geodec pipeline runs pipelines/run. The build inserts the list
# of stages, from the tables that the tools print (--options).
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
usage() {
    cat <<'END'
Usage: geodec STAGE [ARGUMENTS]
   or: geodec pipeline [--quick] [MODEL=FILE TEXT=FILE]
Runs the tool geodec-STAGE, or the whole job: all measurements of a model, and a report, in the folder results.
@STAGES@

'geodec help STAGE' or 'geodec STAGE --help' describes a stage, 'geodec pipeline --help' the job.
END
}
case ${1-} in
    ''|-h|--help) usage; if [ $# -eq 0 ]; then exit 2; fi; exit 0 ;;
    --version) echo "geodec (geodec) @VERSION@"; exit 0 ;;
    -*|*/*) echo "geodec: '$1' is not a stage; see geodec --help" >&2; exit 2 ;;
esac
if [ "$1" = help ]; then
    shift
    [ $# -gt 0 ] || { usage; exit 0; }
    case $1 in -* | */*) echo "geodec: '$1' is not a stage; see geodec --help" >&2; exit 2 ;; esac
    set -- "$1" --help
fi
stage=$1
shift
if [ "$stage" = pipeline ]; then
    data=$("$here/geodec-model-path" --folder) || exit 1
    GEODEC_BIN=$here
    export GEODEC_BIN
    for p in "$data" "$data/.."; do
        if [ -x "$p/pipelines/run" ]; then exec "$p/pipelines/run" "$@"; fi
    done
    echo "geodec: no pipelines/run in $data" >&2
    exit 1
fi
if [ -x "$here/geodec-$stage" ]; then exec "$here/geodec-$stage" "$@"; fi
if command -v "geodec-$stage" >/dev/null 2>&1; then exec "geodec-$stage" "$@"; fi
near=$(for f in "$here"/geodec-* pipeline help; do [ "$f" = "$here/geodec-*" ] || echo "${f##*/}"; done | sed 's/^geodec-//' | awk -v word="$stage" '
@NEAREST@
')
[ -z "$near" ] || near="; did you mean '$near'?"
echo "geodec: no stage '$stage'$near; see geodec --help" >&2
exit 2
