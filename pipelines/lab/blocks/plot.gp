# Error of block summaries. tsv: block, then value low high of persistence mean shuffled nearest jacobi softmax simplex oracle centre.
load plots.'/style.gp'
set title 'Reconstruction of states from block summaries of other texts'
set xlabel 'block'
set ylabel 'error / displacement'
set xrange [0.7:8.3]
set yrange [0:2]
set key outside right top
c(i) = 2 + 3 * i
plot tsv using 1:(column(c(0))) skip 1 with lines linetype 7 title 'persistence, control', \
     for [i in '2 1'] tsv using ($1 + 0.02 * i):(column(c(i))):(column(c(i) + 1)):(column(c(i) + 2)) skip 1 with yerrorlines linetype (i == 2 ? 4 : 6) title (i == 2 ? 'shuffled anchor, control' : 'mean displacement, control'), \
     tsv using ($1 + 0.03):(column(c(8))):(column(c(8) + 1)):(column(c(8) + 2)) skip 1 with yerrorlines linetype 7 dashtype 1 title 'mean state, control', \
     tsv using ($1 - 0.04):(column(c(3))):(column(c(3) + 1)):(column(c(3) + 2)) skip 1 with yerrorlines linetype 5 title 'nearest anchor', \
     tsv using ($1 - 0.02):(column(c(4))):(column(c(4) + 1)):(column(c(4) + 2)) skip 1 with yerrorlines linetype 2 title 'with its propagator', \
     tsv using ($1 + 0.06):(column(c(5))):(column(c(5) + 1)):(column(c(5) + 2)) skip 1 with yerrorlines linetype 3 title 'softmax blend', \
     tsv using ($1 + 0.08):(column(c(6))):(column(c(6) + 1)):(column(c(6) + 2)) skip 1 with yerrorlines linetype 1 title 'simplex blend', \
     tsv using 1:(column(c(7))) skip 1 with lines linetype 1 dashtype 3 title 'blend fitted to the true state'
