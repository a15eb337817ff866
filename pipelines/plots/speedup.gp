# Speed relative to plain decoding, measured and predicted. A file for each drafter: gamma, measured, low, high, predicted, textbook.
load plots.'/style.gp'
set title 'Speed-up over plain greedy decoding: measured (points) and predicted (dashes)'
set xlabel 'draft length'
set ylabel 'tokens per second / plain'
set logscale x 2
set yrange [0:*]
set offsets graph 0.05, graph 0.05, 0, 0
plot for [i=1:words(drafters)] dir.'/speedup-'.word(drafters, i).'.tsv' using 1:2:3:4 skip 1 with yerrorbars linetype i title word(drafters, i), \
     for [i=1:words(drafters)] dir.'/speedup-'.word(drafters, i).'.tsv' using 1:5 skip 1 with lines linetype i dashtype 2 notitle, \
     1 with lines linetype 7 title 'plain greedy'
