# Cost of the metric field by the number of sites, log-log, with fitted slopes. tsv: bench-field's.
load plots.'/style.gp'
set datafile missing '-'
set title 'Cost of the metric field by the number of sites'
set xlabel 'sites N'
set ylabel 'us'
set logscale xy
set format x '10^{%T}'
set format y '10^{%T}'
set key inside left top
stats tsv using (log10($1)):(log10($8)) skip 1 name 'POINT' nooutput
stats tsv using (log10($1)):(log10($1 * $8)) skip 1 name 'SWEEP' nooutput
stats tsv using (log10($1)):(log10($9)) skip 1 name 'ALL' nooutput
stats tsv using (log10($1)):(log10($5)) skip 1 name 'BUILD' nooutput
line(x, a, b) = 10 ** (a + b * log10(x))
plot tsv using 1:($5 * 1e6) skip 1 with linespoints linetype 5 title sprintf('tree and copies, N^{%.2f}', BUILD_slope) enhanced, \
     tsv using 1:($1 * $8) skip 1 with linespoints linetype 3 title sprintf('N points (N times a point), N^{%.2f}', SWEEP_slope) enhanced, \
     line(x, SWEEP_intercept, SWEEP_slope) with lines linetype 7 notitle, \
     tsv using 1:9 skip 1 with linespoints linetype 2 title sprintf('a point, plain loops over all sites (control), N^{%.2f}', ALL_slope) enhanced, \
     tsv using 1:8 skip 1 with linespoints linetype 1 title sprintf('a point, N^{%.2f}', POINT_slope) enhanced, \
     line(x, POINT_intercept, POINT_slope) with lines linetype 7 notitle
if (format eq 'svg') print sprintf('slopes of log cost against log N: a point %.2f, N points %.2f, plain loops %.2f, build %.2f', \
                                   POINT_slope, SWEEP_slope, ALL_slope, BUILD_slope)
