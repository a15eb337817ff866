# Foretold experts and bits a byte by the way of routing. tsv: variant, bits, sd, ahead_0, sd, ahead_1, sd, ahead_2, sd, popular, dense
load plots.'/style.gp'
set multiplot layout 2,1 title 'Ways of routing at equal steps (mean and spread of the seeds)'
set style data histograms
set style histogram errorbars gap 1 linewidth 1
set xtics scale 0 rotate by -20 noenhanced
set errorbars 0.7 linecolor rgb '#333333' linewidth 1
set lmargin 9
set rmargin 26
set yrange [0:1.05]
set ylabel 'experts foretold'
plot tsv using 4:5:xticlabels(1) skip 1 linetype 1 title 'before its own block', '' using 6:7 skip 1 linetype 3 title 'one block earlier', \
     '' using 8:9 skip 1 linetype 6 title 'two blocks earlier', '' using 10:(0) skip 1 linetype 7 fillstyle pattern 4 title 'popularity (control)'
set yrange [*:*]
stats tsv using 2 skip 1 nooutput
set yrange [STATS_min - 0.15:STATS_max + 0.1]
set ylabel 'bits a byte'
plot tsv using 2:3:xticlabels(1) skip 1 linetype 2 title 'held-out text', '' using 0:11 skip 1 with lines linetype 7 title 'dense model (control)'
unset multiplot
