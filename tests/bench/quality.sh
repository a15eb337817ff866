#!/bin/sh
# quality.sh SHARED [BYTES [PROMPTS]]: integer arithmetic compared with exact on every model of the shared folder and on the embedded ones, as TSV.
#   text            the text: of the model's own kind, its first BYTES bytes (48000)
#   exact, integer  perplexity of both on the same tokens; change, change_se: its relative difference in per cent, with one standard error (paired)
#   control, control_se   the same for `fast` arithmetic
#   steps .. decided_differ   greedy steps (bench-greedy): chosen tokens, other ones in integers, steps whose two best exact logits are more than
#                   0.1 apart, other ones among these; margin: the largest distance in a step that differs; wide_margin: with weights of 16 bits; fast_differ, fast_margin: the control
# The texts: samples of stories260K for the models that derive from it, held-out documents for moe22m, generated stories that were not trained on
# for the embedded models.
set -eu
cd "$(dirname -- "$0")/../.."
shared=${1:?quality.sh SHARED [BYTES [PROMPTS]]} bytes=${2:-48000} prompts=${3:-32}
b=${B:-build/release}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$b/bin/geodec-corpus" -q --seed 20260001 --first 70000 --bytes "$bytes" --control-stories 0 -o "$tmp/held-out-stories"
for text in stories260K-samples-a moe22m-a; do head -c "$bytes" "$shared/text/$text.txt" >"$tmp/$text"; done

# figure ROW COLUMN TABLE: the cell of a column in the row whose first cell is ROW, or with 2 in the second line.
figure() { awk -F'\t' -v row="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 && ($1 == row || row == NR) { print $c }' "$3"; }

printf 'model\ttext\ttokens\texact\tinteger\tchange\tchange_se\tcontrol\tcontrol_se\tsteps\tdiffer\tdecided\tdecided_differ\tmargin\twide_margin\tfast_differ\tfast_margin\n'
for model in "$shared"/models/*.gguf data/model/*.gguf; do
    name=$(basename "$model" .gguf)
    case $name in
        moe22m*) text=moe22m-a ;;
        geodec-*) text=held-out-stories ;;
        *) text=stories260K-samples-a ;;
    esac
    for arithmetic in integer fast; do
        "$b/bin/geodec-perplexity" -q -m "$model" --arithmetic exact --against-arithmetic $arithmetic "$tmp/$text" >"$tmp/$arithmetic"
    done
    "$b/bench/bench-greedy" "$model" "$tmp/$text" "$prompts" 64 >"$tmp/greedy"
    printf '%s\t%s\t%s' "$name" "$text" "$(figure 2 tokens "$tmp/integer")"
    for column in perplexity against_perplexity; do printf '\t%s' "$(figure 2 $column "$tmp/integer")"; done
    for arithmetic in integer fast; do
        # perplexity is exp(nll): to first order the relative standard error is that of the difference of nll
        printf '\t%s' "$(figure 2 difference "$tmp/$arithmetic" | awk '{ printf "%.4f", 100 * (exp($1) - 1) }')" \
            "$(figure 2 difference_se "$tmp/$arithmetic" | awk '{ printf "%.4f", 100 * $1 }')"
    done
    for column in steps differ decided decided_differ margin; do printf '\t%s' "$(figure integer $column "$tmp/greedy")"; done
    printf '\t%s\t%s\t%s\n' "$(figure wide margin "$tmp/greedy")" "$(figure fast differ "$tmp/greedy")" "$(figure fast margin "$tmp/greedy")"
done
