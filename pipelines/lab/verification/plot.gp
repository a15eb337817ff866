# Deviations of the identities and their limits. tsv: check worst limit.
load plots.'/style.gp'
set title 'Identities of the geometry'
set xlabel 'relative deviation'
set logscale x
set format x '10^{%L}'
set xrange [1e-17:1]
set yrange [:] reverse
set offsets 0, 0, 0.5, 0.5
set lmargin 26
set bmargin at screen 0.22
set key at screen 0.4, screen 0.07 horizontal
plot tsv using 3:0:ytic(1) skip 1 with points linetype 2 pointtype 9 pointsize 1.3 title 'limit', \
     tsv using ($2 > 1e-17 ? $2 : 1e-17):0 skip 1 with points linetype 1 pointtype 7 pointsize 1.3 title 'worst point'
