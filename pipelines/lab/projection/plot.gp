# Perplexity of projected weights against the bytes of the projected slots. tsv: sweep
load plots.'/style.gp'
set title 'Low rank for all matrices: ratio of perplexity to the whole weights'
set xlabel 'bytes of the factors / bytes of the matrices'
set ylabel 'perplexity ratio'
set logscale y
set format y '%g'
of(basis, own) = sprintf("< awk -F'\\t' -v OFS='\\t' '$1 == \"all\" && $2 == \"%s\" && $3 == %d {print $6, exp($13), exp($13 - 2 * $14), exp($13 + 2 * $14)}' %s", basis, own, tsv)
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linetype 7
plot of('weights', 0) using 1:2:3:4 with yerrorlines linetype 1 title 'shared, weights (GP)', \
     of('weights', 1) using 1:2:3:4 with yerrorlines linetype 6 title 'each slot''s SVD', \
     of('whitened', 0) using 1:2:3:4 with yerrorlines linetype 2 title 'shared, whitened', \
     of('whitened', 1) using 1:2:3:4 with yerrorlines linetype 5 title 'each slot, whitened', \
     of('random', 0) using 1:2:3:4 with yerrorlines linetype 7 title 'random (control)', \
     1 with lines linetype 4 linewidth 1 title 'whole weights'
