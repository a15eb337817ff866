#!/bin/sh
# architectures.sh OUT.tsv: the rows that the unit tests print about each model of golden/arch (GEODEC_SHARED), in files OUT.tsv and OUT.tsv.log.
# Columns: what, model, numbers (docs/results/architectures.md explains them). The status is that of the tests.
set -u
out=$1 b=${B:-build/release} bad=0
: >"$out.log"
for test in session:model_architectures reference:reference_architectures drafters:architectures; do
    "$b/tests/test-${test%%:*}" --filter "${test##*:}/*" >>"$out.log" 2>&1 || bad=1
done
sed -n 's/^row\t//p' "$out.log" | LC_ALL=C sort -u >"$out"
exit $bad
