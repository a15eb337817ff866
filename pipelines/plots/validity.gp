# Error of the linear propagator against the size of the perturbation. tsv: eps mean low high sphere_mean; slopes in the titles.
load plots.'/style.gp'
set title 'How far a propagator is valid'
set xlabel 'perturbation, g-length'
set ylabel 'relative error of the endpoint'
set logscale xy
set format y '10^{%L}'
set key inside left top
plot tsv using 1:3:4 skip 1 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.2 notitle, \
     tsv using 1:2 skip 1 with linespoints linetype 1 title sprintf('this model (slope %.2f)', slope+0.0), \
     tsv using 1:5 skip 1 with linespoints linetype 2 title sprintf('unit sphere, control (slope %.2f; exact 2)', sphere+0.0), \
     0.05 with lines linetype 7 title '5 % tolerance'
