# Error of the linear propagator by the size of the perturbation. tsv: eps mean low high sphere shift hyperbolic
# gaussian_fisher flat; slopes in the titles. On the flat torus errors are rounding, far below the plot.
load plots.'/style.gp'
set title 'Error of the propagator by perturbation'
set xlabel 'perturbation, g-length'
set ylabel 'relative error of the endpoint'
set logscale xy
set format y '10^{%L}'
set bmargin at screen 0.40
set key at screen 0.12, screen 0.26 left top samplen 2
stats tsv using 9 skip 1 nooutput
plot tsv using 1:3:4 skip 1 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.2 notitle, \
     tsv using 1:2 skip 1 with linespoints linetype 1 title sprintf('this model (slope %.2f)', slope+0.0), \
     tsv using 1:6 skip 1 with linespoints linetype 5 dashtype 3 title 'this model, plain shift in place of the propagator', \
     tsv using 1:5 skip 1 with linespoints linetype 2 title sprintf('unit sphere, control (slope %.2f; exact 2)', sphere+0.0), \
     tsv using 1:7 skip 1 with linespoints linetype 3 title sprintf('hyperbolic space (slope %.2f)', hyperbolic+0.0), \
     tsv using 1:8 skip 1 with linespoints linetype 4 title sprintf('normal distributions, Fisher metric (slope %.2f)', fisher+0.0), \
     0.05 with lines linetype 7 title sprintf('5 %% tolerance (flat torus: rounding, at most %.0e)', STATS_max)
