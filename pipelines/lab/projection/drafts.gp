# Projected copies that draft for the whole model: speed over plain decoding. tsv: drafts
load plots.'/style.gp'
set title 'Drafts of the whole model by a projected copy, 4 drafts a round'
set xlabel 'rank k/d'
set ylabel 'speed over plain decoding'
set yrange [0:1.1]
set key outside center bottom horizontal maxcols 2 font ',10'
set xrange [*:1.02]
whole = real(system(sprintf("awk -F'\\t' '$1 == \"drafter\" && $3 == \"whole\" {print $11}' %s", tsv)))
of(slots, basis, own) = sprintf("< awk -F'\\t' -v OFS='\\t' '$1 == \"drafter\" && $2 == \"%s\" && $3 == \"%s\" && $4 == %d {print $5, $11, $12, $13, $16 * %g}' %s", slots, basis, own, whole, tsv)
plot of('q,k,v', 'weights', 0) using 1:2:3:4 with yerrorlines linetype 1 title 'q, k, v: shared, weights (GP)', \
     of('q,k,v', 'whitened', 1) using 1:2:3:4 with yerrorlines linetype 2 title 'q, k, v: each slot, whitened', \
     of('q,k,v', 'random', 0) using 1:2:3:4 with yerrorlines linetype 7 title 'q, k, v: random (control)', \
     of('all', 'whitened', 1) using 1:2:3:4 with yerrorlines linetype 5 title 'all: each slot, whitened', \
     of('q,k,v', 'weights', 0) using 1:5 with points linetype 1 pointtype 2 pointsize 2 title 'closed form', \
     of('q,k,v', 'whitened', 1) using 1:5 with points linetype 2 pointtype 2 pointsize 2 notitle, \
     of('q,k,v', 'random', 0) using 1:5 with points linetype 7 pointtype 2 pointsize 2 notitle, \
     of('all', 'whitened', 1) using 1:5 with points linetype 5 pointtype 2 pointsize 2 notitle, \
     whole with lines linetype 4 linewidth 1 title 'the whole model drafts for itself', \
     1 with lines linetype 7 linewidth 1 title 'plain decoding'
