# Corrections in batches. tsv: batch, published loop and product, loop, product, kernel (us); moves: perturbation, error, error of the
# flow, control, control of the flow; floor (us)
load plots.'/style.gp'
set multiplot layout 1,2
set logscale xy
set format y '10^{%T}'
set format x '10^{%T}'
set xlabel 'queries at once' offset 0, 0.4
set ylabel 'us a query'
set title 'Cost'
set yrange [1e-3:*]
set key outside center bottom horizontal maxcols 2
plot tsv using 1:2 skip 1 with linespoints linetype 2 dashtype 3 title 'published: loop', \
     tsv using 1:3 skip 1 with linespoints linetype 5 dashtype 3 title 'published: product', \
     tsv using 1:4 skip 1 with linespoints linetype 2 title 'dgemv in a loop', \
     tsv using 1:5 skip 1 with linespoints linetype 5 title 'one dgemm', \
     tsv using 1:6 skip 1 with linespoints linetype 1 title 'kernel', \
     floor+0.0 with lines linetype 7 title 'bound by the peak'
set xlabel 'perturbation, g-length' offset 0, 0.4
set ylabel 'error / shift of the end'
set title 'Comparison with true geodesics'
set yrange [*:*]
set xrange [0.8e-4:1.2e-2]
set key outside center bottom horizontal maxcols 2
plot moves using 1:2 skip 1 with linespoints linetype 1 title 'Phi', \
     moves using 1:3 skip 1 with linespoints linetype 3 title 'whole flow', \
     moves using 1:4 skip 1 with linespoints linetype 2 title 'unchanged (control)'
unset multiplot
