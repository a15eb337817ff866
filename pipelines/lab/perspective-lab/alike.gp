# Differences of neighbouring experts and bits a byte by the weight of the penalty. tsv: weight, bits, sd, p, sd, size, independent
load plots.'/style.gp'
set title 'Pulling neighbouring experts together'
set xlabel 'weight of the penalty (0 at the left)'
set logscale x
set format x '%g'
set ylabel 'share'
set y2label 'bits a byte'
set y2tics
set yrange [0:*]
place(w) = w > 0 ? w : 0.002
set xrange [0.0015:15]
set key bmargin center vertical maxrows 4
plot tsv using (place($1)):4:5 skip 1 with yerrorlines linetype 1 title 'weights that differ between neighbours', \
     tsv using (place($1)):7 skip 1 with lines linetype 7 title 'the same of unrelated experts (control)', \
     tsv using (place($1)):6 skip 1 with linespoints linetype 3 title 'bytes of a difference / bytes of the expert', \
     tsv using (place($1)):2:3 skip 1 axes x1y2 with yerrorlines linetype 2 title 'bits a byte (right)'
