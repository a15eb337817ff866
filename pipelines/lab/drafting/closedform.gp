# Tokens a pass: measured, by the closed form of one acceptance, by that of each position. Blocks as in alpha.gp.
load plots.'/style.gp'
set title 'Tokens a pass: measured (points), closed form (dashes: one acceptance, dots: by position)'
set xlabel 'draft length'
set ylabel 'tokens a pass of the model'
set logscale x 2
set yrange [0:*]
set offsets graph 0.05, graph 0.05, 0, 0
blocks = int(system(sprintf("grep -c '^[a-z]' %s", tsv)))
plot for [i=0:blocks-1] tsv index i using 1:5:6:7 with yerrorbars linetype i+1 title columnheader(1), \
     for [i=0:blocks-1] tsv index i using 1:8 with lines linetype i+1 dashtype 2 notitle, \
     for [i=0:blocks-1] tsv index i using 1:9 with lines linetype i+1 dashtype 3 notitle, \
     1 with lines linetype 7 title 'plain'
