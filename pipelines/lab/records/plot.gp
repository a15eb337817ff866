# Error of a stored propagator by rank. tsv: rank, error of truncated Phi - I, of truncated Phi; tolerance
load plots.'/style.gp'
set title 'Error of a propagator of low rank'
set xlabel 'rank'
set ylabel 'relative error (Frobenius), median of records'
set logscale y
set format y '10^{%T}'
set xtics 1
set yrange [*:2]
set xrange [0.8:*]
set key inside right center
plot tsv using 1:($3 > 1e-8 ? $3 : 1/0) skip 1 with linespoints linetype 2 title 'Phi truncated (control, as published)', \
     tsv using 1:($2 > 1e-8 ? $2 : 1/0) skip 1 with linespoints linetype 1 title 'Phi - I truncated', \
     tolerance+0.0 with lines linetype 7 title 'tolerance'
