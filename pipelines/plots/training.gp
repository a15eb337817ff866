# Training curve with the entropy floor. tsv: tokens held_out_bits_per_byte ...; floor: bits/byte
load plots.'/style.gp'
set title 'Training of the embedded model'
set xlabel 'training tokens (millions)' offset 0, 0.4
set ylabel 'bits per byte of held-out text'
set logscale y 2
set yrange [0.2:1.1]
set key outside center bottom horizontal maxcols 3
plot tsv using ($1/1e6):2 skip 1 with linespoints linetype 1 title 'held-out loss', \
     floor+0.0 with lines linetype 7 title 'exact entropy of the corpus', \
     ngram+0.0 with lines linetype 2 dashtype 3 title 'byte 6-gram (control)'
