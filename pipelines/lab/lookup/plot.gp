# Speed of a search. tsv: records, near, fresh, own, exhaustive, screen (us)
load plots.'/style.gp'
set title 'Search for the nearest record (exact, 8 dimensions)'
set xlabel 'records'
set ylabel 'us a search'
set logscale xy
set format y '10^{%T}'
set format x '10^{%T}'
set key inside left top
plot tsv using 1:5 skip 1 with linespoints linetype 2 title 'exhaustive (control)', \
     tsv using 1:6 skip 1 with linespoints linetype 5 title 'screen of 8 by Euclidean distance (not exact)', \
     tsv using 1:4 skip 1 with linespoints linetype 4 title 'records'' own metrics', \
     tsv using 1:3 skip 1 with linespoints linetype 3 title 'queries anywhere', \
     tsv using 1:2 skip 1 with linespoints linetype 1 title 'queries near an anchor', \
     30.9 with lines linetype 7 title 'published, 24 records'
