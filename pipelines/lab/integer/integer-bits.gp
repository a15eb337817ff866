# Cost of integers by bits. tsv: place, model, weights, activations, tokens, exact, integer, change, se, ..
load plots.'/style.gp'
set title 'Perplexity in integers relative to the exact pass'
set ylabel 'change of the perplexity, %'
set xlabel 'bits of the weights / of the inputs of products'
set logscale y
set format y '%g'
floor = 1e-4
models = system("awk -F'\t' 'NR > 1 && !seen[$2]++ {print $2}' ".tsv)
x = '(($3 == 4 ? 0 : $3 == 8 ? 2 : 4) + ($4 == 8 ? 1 : 2))'
shift(i) = (i - (words(models) + 1) / 2.0) * 0.14
of(model, i) = sprintf("< awk -F'\t' '$2 == \"%s\" {c = 100 * $8; s = 200 * $9; if (c > s) print %s + %f \"\t\" c \"\t\" (c - s > %g ? c - s : %g) \"\t\" c + s}' %s", model, x, shift(i), floor, floor, tsv)
# those that are not above 0 by two standard errors: their upper ends
below(model, i) = sprintf("< awk -F'\t' 'BEGIN {print \"nan\tnan\tnan\"} $2 == \"%s\" {c = 100 * $8; s = 200 * $9; if (c <= s) print %s + %f \"\t\" (c + s > 2 * %g ? c + s : 2 * %g) \"\t\" %g}' %s", model, x, shift(i), floor, floor, floor, tsv)
set xrange [0.5:6.5]
set yrange [floor:*]
set xtics ('4 / 8' 1, '4 / 16' 2, '8 / 8' 3, '8 / 16' 4, '16 / 8' 5, '16 / 16' 6) scale 0
set grid ytics
set grid noxtics
set bars 0.6
plot for [i=1:words(models)] of(word(models, i), i) using 1:2:3:4 with yerrorbars linetype i pointsize 1 title word(models, i), \
     for [i=1:words(models)] below(word(models, i), i) using 1:2:(0):($3 - $2) with vectors head size graph 0.012,25 filled linetype i linewidth 1 notitle
