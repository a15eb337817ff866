#!/bin/sh
# From a clone to the report: installs missing Debian packages, builds, runs the pipeline, writes results/<model>/report/.
#
#   ./run_all.sh                                   the embedded model on text of its own corpus
#   ./run_all.sh MODEL=my.gguf TEXT=my.txt         your model and text
#   ./run_all.sh --quick                           the small version
#   ./run_all.sh --full                            more prompts and seeds, and the long sweeps
#   ./run_all.sh --jobs 8                          parallel make jobs (default: all processors)
# Further NAME=VALUE words go to make (pipelines/config.mk lists them). An interrupted run continues when started again; finished stages are kept.
# The status is 0 if there is a report and no stage failed. Results for which the model or text is too small are marked "not measured" in the report.
set -eu
cd "$(dirname -- "$0")"
export LC_ALL=C # the order of files and the form of numbers

jobs=$(nproc 2>/dev/null || echo 2)
quick=
size_word() { case $1 in --quick) echo QUICK=1 ;; *) echo FULL=1 ;; esac; }
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --quick | --full)
            [ -z "$quick" ] || [ "$quick" = "$(size_word "$1")" ] || { echo "run_all.sh: --quick and --full: one of them" >&2; exit 2; }
            quick=$(size_word "$1")
            shift
            ;;
        --jobs) [ $# -ge 2 ] || { echo "run_all.sh: --jobs needs a number" >&2; exit 2; }; jobs=$2; shift 2 ;;
        --jobs=*) jobs=${1#--jobs=}; shift ;;
        -*) printf "run_all.sh: unknown option '%s'; see --help\n" "$1" >&2; exit 2 ;;
        *=*) break ;;
        *) printf "run_all.sh: '%s' is neither an option nor NAME=VALUE; see --help\n" "$1" >&2; exit 2 ;;
    esac
done
# File names are passed through the environment, so that neither make nor a shell interprets them.
unset MODEL TEXT R
n=$#
while [ "$n" -gt 0 ]; do
    word=$1
    shift
    n=$((n - 1))
    case $word in
        MODEL=*) export MODEL="${word#*=}" ;;
        TEXT=*) export TEXT="${word#*=}" ;;
        *=*) case $word in R=*) R=${word#*=} ;; esac; set -- "$@" "$word" ;;
        *) printf "run_all.sh: '%s' comes after NAME=VALUE words; put options first\n" "$word" >&2; exit 2 ;;
    esac
done
unknown=$(bash pipelines/inputs words "$@")
[ -z "$unknown" ] || { printf 'run_all.sh: %s\n' "$unknown" >&2; exit 2; }
looked=$(bash pipelines/inputs name "${R-}" "${MODEL:-data/model/geodec-stories-f16.gguf}" "${TEXT-}")
case $looked in
    "ok "*) ;;
    *) printf 'run_all.sh: %s\n' "$looked" >&2; exit 1 ;;
esac

started=$(date +%s)
bash scripts/packages install build
# Two calls of make: make runs pkg-config when it starts, so the packages are installed before; and the pipeline needs the tools.
make -j"$jobs" build
status=0
piped=$(date +%s)
# shellcheck disable=SC2086 # $quick is one word or nothing
make -j"$jobs" results $quick "$@" || status=$?
# shellcheck disable=SC2086
report=$(make -s print-report $quick "$@")
pipelines/report/slowest "${report%/report/*}" "$piped"
if [ -e "$report" ]; then
    echo
    echo "report: $report ($(($(date +%s) - started)) s)"
fi
exit "$status"
