# Residuals. tsv: class paths turn low high kinetic_turn explained low high, then paths turn kinetic_turn explained of the null cloud;
# refined: dl, residual, residual of the null cloud
load plots.'/style.gp'
set multiplot layout 1,2
set title 'Residual divided by step length'
set ylabel 'root mean square, in the metric'
set logscale y
set yrange [1e-10:*]
set format y '10^{%L}'
set xtics rotate by -35
set offsets 0.5, 0.5, 0, 0
set key outside center bottom horizontal maxcols 2
above(x) = (x > 1e-10 ? x : NaN)
plot tsv using ($0 - 0.15):(above($6)) skip 1 with points linetype 6 pointtype 4 pointsize 1.2 title 'second difference', \
     tsv using 0:3:4:5:xtic(1) skip 1 with yerrorbars linetype 1 pointsize 1.2 title 'geodesic residual', \
     tsv using ($0 + 0.2):($10 > 0 ? above($11) : NaN) skip 1 with points linetype 2 pointtype 6 pointsize 1.2 title 'Gaussian cloud (control)'
set title sprintf('Order of geodesics %.2f (exact 4)', order + 0.0)
set xlabel 'arc length of a step' offset 0, 0.4
set ylabel 'residual'
set logscale x
set xrange [0.01:0.0625]
set xtics norotate (0.0125, 0.025, 0.05)
set yrange [*:*]
set offsets 0, 0, 0, 0
set key outside center bottom horizontal maxcols 2
plot refined using 1:2 skip 1 with linespoints linetype 1 pointsize 1.2 title 'this model', \
     refined using 1:3 skip 1 with linespoints linetype 2 pointsize 1.2 title 'Gaussian cloud'
unset multiplot
