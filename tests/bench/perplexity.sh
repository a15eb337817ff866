#!/bin/sh
# perplexity.sh SHARED: every model of the shared folder on its two texts, exact compared with float64, fast compared with the value
# of llama.cpp (golden/llama/README.md), as TSV. Windows of 256, 40 of tinystories-a and 16 of wikitext2-test-a, as the goldens.
#   exact_off   exact / float64 - 1          fast_nll, fast_nll_se   increase of the mean nll by fast arithmetic (paired)
#   peer_nll    log(fast / peer), the difference of fast arithmetic from the peer, which rounds activations too
set -eu
cd "$(dirname -- "$0")/../.."
shared=${1:?perplexity.sh SHARED}
tool=${B:-build/release}/bin/geodec-perplexity

# figure COLUMN TABLE: prints that cell of the only row.
figure() { printf '%s\n' "$2" | awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }'; }

printf 'model\ttext\texact\tfloat64\texact_off\tfast\tfast_nll\tfast_nll_se\tagreement\tpeer\tpeer_nll\n'
for model in "$shared"/models/*.gguf; do
    name=$(basename "$model" .gguf)
    column=2
    for text in tinystories-a:40 wikitext2-test-a:16; do
        column=$((column + 1))
        file=$shared/text/${text%:*}.txt
        set -- -q -m "$model" --window 256 --windows "${text#*:}"
        float64=$("$tool" "$@" --against-arithmetic float64 "$file")
        fast=$("$tool" "$@" --against-arithmetic fast "$file")
        peer=$(awk -F'|' -v name=" $name " -v c="$column" '/perplexity tinystories-a/ { on = 1 } on && $2 == name { gsub(/ /, "", $c); print $c }' \
            "$shared/golden/llama/README.md")
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(figure perplexity "$fast")" "$(figure perplexity "$float64")" \
            "$(figure against_perplexity "$float64")" "$(figure against_perplexity "$fast")" "$(figure difference "$fast")" \
            "$(figure difference_se "$fast")" "$(figure agreement "$fast")" "${peer:-nan}" |
            awk -F'\t' -v OFS='\t' -v name="$name" -v text="${text%:*}" \
                '{ print name, text, $1, $3, $2 / $3 - 1, $4, $5, $6, $7, $8, ($8 > 0 ? log($4 / $8) : "nan") }'
    done
done
