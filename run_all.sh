#!/bin/sh
# From a clean clone to the report: installs missing Debian packages, builds, runs the pipeline, writes results/<model>/report/.
#
#   ./run_all.sh                                   the embedded model on text of its own corpus
#   ./run_all.sh MODEL=my.gguf TEXT=my.txt         your model and text
#   ./run_all.sh --quick                           the small version (under two minutes)
#   ./run_all.sh --jobs 8                          parallel make jobs (default: all processors)
# Further NAME=VALUE words go to make (pipelines/pipelines.mk lists them). Safe to interrupt and run again: finished stages stay.
set -eu
cd "$(dirname -- "$0")"

jobs=$(nproc 2>/dev/null || echo 2)
quick=
usage() { sed -n '2,8s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --quick) quick=QUICK=1; shift ;;
        --jobs) [ $# -ge 2 ] || { echo "run_all.sh: --jobs needs a number" >&2; exit 2; }; jobs=$2; shift 2 ;;
        --jobs=*) jobs=${1#--jobs=}; shift ;;
        -*) echo "run_all.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
        *=*) break ;;
        *) echo "run_all.sh: '$1' is neither an option nor NAME=VALUE; see --help" >&2; exit 2 ;;
    esac
done
for word in "$@"; do
    case $word in
        MODEL=* | TEXT=*)
            [ -r "${word#*=}" ] || { echo "run_all.sh: ${word%%=*}: cannot read '${word#*=}'" >&2; exit 1; } ;;
        *=*) ;;
        *) echo "run_all.sh: '$word' comes after NAME=VALUE words; put options first" >&2; exit 2 ;;
    esac
done

started=$(date +%s)
bash scripts/packages install build
# Two calls: what pkg-config says is read when make starts, so packages come first, and the tools before the pipeline.
make -j"$jobs" build
# shellcheck disable=SC2086 # $quick is one word or nothing
make -j"$jobs" results $quick "$@"
# shellcheck disable=SC2086
report=$(make -s print-report $quick "$@")
echo
echo "report: $report ($(($(date +%s) - started)) s)"
