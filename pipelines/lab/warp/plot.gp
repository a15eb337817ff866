# Curvature warp. tsv: place width alpha reduction low high p95, then reduction and p95 of the null cloud, flat space, the sphere
load plots.'/style.gp'
set multiplot layout 1,2
set title 'Redirection by a warp around the query'
set xlabel 'strength of the warp (0: control)' offset 0, 0.4
set ylabel 'reduction of the distance to the target'
set key outside center bottom horizontal maxcols 2
set yrange [-1:1]
cell(c, w) = (column(1) == 0 && abs(column(2) - w) < 1e-6 ? column(c) : NaN)
plot for [i = 1:3] tsv using 3:(cell(4, 0.25 * 2 ** (i - 1))):5:6 skip 1 with yerrorbars linetype i notitle, \
     for [i = 1:3] tsv using 3:(cell(4, 0.25 * 2 ** (i - 1))) skip 1 with lines linetype i title sprintf('width %g of the path', 0.25 * 2 ** (i - 1)), \
     for [i = 1:3] tsv using 3:(cell(8, 0.25 * 2 ** (i - 1))) skip 1 with lines linetype i dashtype 3 title (i == 1 ? 'Gaussian cloud (control)' : ''), \
     0.5 with lines linetype 7 title 'published criterion'
set title 'Effect on other paths'
set xlabel 'reduction of the distance to the target' offset 0, 0.4
set ylabel 'spillover beyond 2 widths, 95th percentile'
set xrange [-1:1]
set logscale y
set yrange [1e-6:10]
set format y '10^{%L}'
set key outside center bottom horizontal maxcols 2
set object 1 rectangle from 0.5, 1e-6 to 1, 0.05 fillcolor rgb '#009e73' fillstyle transparent solid 0.15 noborder behind
plot tsv using ($3 != 0 ? $4 : NaN):($7 > 0 ? $7 : NaN) skip 1 with points linetype 1 pointsize 1 title 'this model', \
     tsv using ($3 != 0 ? $8 : NaN):($9 > 0 ? $9 : NaN) skip 1 with points linetype 2 pointsize 1 title 'Gaussian cloud (control)', \
     tsv using ($3 != 0 ? $10 : NaN):($11 > 0 ? $11 : NaN) skip 1 with points linetype 3 pointsize 1 title 'flat space', \
     tsv using ($3 != 0 ? $12 : NaN):($13 > 0 ? $13 : NaN) skip 1 with points linetype 5 pointsize 1 title 'unit sphere'
unset multiplot
