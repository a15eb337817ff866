# Claimed confidence and acceptance. Blocks of a drafter: mean claimed confidence of a tenth, accepted, low, high, drafts.
load plots.'/style.gp'
set title 'Claimed confidence and acceptance of drafts'
set xlabel 'claimed confidence'
set ylabel 'accepted / reached'
set xrange [0:1]
set yrange [0:1]
blocks = int(system(sprintf("grep -c '^[a-z]' %s", tsv)))
plot for [i=0:blocks-1] tsv index i using 1:2:3:4 with yerrorlines linetype i+1 title columnheader(1), \
     x with lines linetype 7 title 'calibrated'
