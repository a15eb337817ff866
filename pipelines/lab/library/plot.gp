# A library that stores missed states. tsv: radius, stored shares (text shuffled gaussian surrogate), errors of hits (record's
# next state, shifted, state itself, random record)
load plots.'/style.gp'
set multiplot layout 1,2
set logscale x
set xlabel 'radius, median distances' offset 0, 0.4
set title 'Share stored (the rest are hits)'
set ylabel 'share of the stream'
set yrange [0:1.02]
set key outside center bottom horizontal maxcols 2
plot tsv using 1:2 skip 1 with linespoints linetype 1 title 'text order', \
     tsv using 1:3 skip 1 with linespoints linetype 6 title 'random order', \
     tsv using 1:4 skip 1 with linespoints linetype 2 title 'Gaussian noise', \
     tsv using 1:5 skip 1 with linespoints linetype 3 title sprintf('%s surrogate', surrogate), \
     0.078 with lines linetype 7 title 'published 7.8 %'
set title 'Error of the next state that a hit predicts'
set ylabel 'rms steps'
set yrange [0:*]
set key outside center bottom horizontal maxcols 2
plot tsv using 1:($6 > 0 ? $6 : 1/0) skip 1 with linespoints linetype 1 title 'record''s next state', \
     tsv using 1:($7 > 0 ? $7 : 1/0) skip 1 with linespoints linetype 6 title 'shifted by the difference', \
     tsv using 1:($8 > 0 ? $8 : 1/0) skip 1 with linespoints linetype 2 title 'state itself (control)', \
     tsv using 1:($9 > 0 ? $9 : 1/0) skip 1 with linespoints linetype 5 dashtype 3 title 'random record (control)'
unset multiplot
