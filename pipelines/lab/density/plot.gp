# Nearest distances of held-out states. tsv: w, own text at least w tokens away, the same on surrogates; online, offline: means
load plots.'/style.gp'
set title 'Nearest distances of held-out states'
set xlabel 'tokens excluded on either side, w'
set ylabel 'mean distance'
set logscale x 2
set yrange [0:*]
set key inside right bottom
plot tsv using 1:($2 > 0 ? $2 : 1/0) skip 1 with linespoints linetype 1 title 'to the same text', \
     tsv using 1:($3 > 0 ? $3 : 1/0) skip 1 with linespoints linetype 5 dashtype 3 title 'to the same text, surrogates (control)', \
     online+0.0 with lines linetype 2 title 'to a library of other texts', \
     offline+0.0 with lines linetype 7 title 'library states to other texts of the library (control)'
