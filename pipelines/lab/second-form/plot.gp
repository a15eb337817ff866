# Error of the scalar curvature against the number of points. tsv: set n points error.
load plots.'/style.gp'
set title 'Error of the curvature of a set'
set xlabel 'points, N'
set ylabel 'median relative error'
set logscale xy
set yrange [1e-3:2]
set key outside right
sets = 'sphere2 torus sphere3 sphere5'
names = '"S^2" "torus" "S^3" "S^5"'
plot for [i=1:4] tsv using 3:(strcol(1) eq word(sets, i) ? $4 : 1/0) skip 1 with linespoints linetype i title word(names, i), \
     1.0 with lines linetype 5 dashtype 3 title 'estimate 0 (control)', \
     0.2 * (x / 500.0) ** -0.5 with lines linetype 8 dashtype 2 title 'slope -1/2'
