# Processor time of the stages by the number of points, log-log. tsv: growth.sh's. Slopes are fitted from 4000 points on, where the fixed
# part of a stage is small.
load plots.'/style.gp'
set title 'Processor time of each stage by the number of points'
set xlabel 'points or tokens N'
set ylabel 'seconds, without the start of the program'
set logscale xy
set format x '10^{%T}'
set format y '10^{%T}'
stages = 'export cloud knn metric christoffel geodesic riemann propagate records'
own(name) = sprintf("< awk -F '\\t' '$1 == \"%s\" { t = $3 - $4; print $2 \"\\t\" (t > 0.002 ? t : 0.002) }' %s", name, tsv)
large(name) = sprintf("< awk -F '\\t' '$1 == \"%s\" && $2 >= 4000 { t = $3 - $4; print $2 \"\\t\" (t > 0.002 ? t : 0.002) }' %s", name, tsv)
array slope[words(stages)]
do for [i = 1:words(stages)] {
    stats large(word(stages, i)) using (log10($1)):(log10($2)) name 'S' nooutput
    slope[i] = S_slope
}
plot for [i = 1:words(stages)] own(word(stages, i)) using 1:2 with linespoints linetype i title sprintf('%s, N^{%.2f}', word(stages, i), slope[i]) enhanced
if (format eq 'svg') do for [i = 1:words(stages)] { print sprintf("%s\t%.2f", word(stages, i), slope[i]) }
