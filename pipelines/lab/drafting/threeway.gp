# Speeds. tsv: drafter, verifier value low high, drafter alone value low high, both value low high, predicted.
load plots.'/style.gp'
set multiplot layout 1,2
set xtics rotate by -20
set xrange [-0.6:*]
set yrange [0:*]
set offsets 0, 0.6, graph 0.1, 0
set key outside center bottom horizontal maxcols 2
set ylabel 'thousand tokens per second of CPU time'
set title 'Exact text'
plot tsv using ($0-0.15):($2/1e3):($3/1e3):($4/1e3) skip 1 with yerrorbars linetype 7 title 'verifier alone', \
     tsv using ($0):($8/1e3):($9/1e3):($10/1e3):xtic(1) skip 1 with yerrorbars linetype 1 title 'both', \
     tsv using ($0+0.15):($11/1e3) skip 1 with points linetype 5 title 'both, predicted'
set title 'Unchecked text'
plot tsv using ($0):($5/1e3):($6/1e3):($7/1e3):xtic(1) skip 1 with yerrorbars linetype 2 title 'drafter alone'
unset multiplot
