# What became of the needed experts. tsv: reading, predictor, needed, resident, in time, late, missed, wasted, ..
load plots.'/style.gp'
set multiplot title 'Needed experts and wasted reads, by predictor'
set style data histograms
set style histogram rowstacked
set boxwidth 0.75
set xtics scale 0 rotate by -35
set ytics 0.2
stats "< awk -F'\t' 'NR > 1 {print $4 + $5 + $6 + $7 + $8}' ".tsv using 1 nooutput
set yrange [0:1.05 * STATS_max]
of(reading) = sprintf("< awk -F'\t' '$1 == \"%s\"' %s", reading, tsv)
set key off
set tmargin 4.5
set bmargin 5
set lmargin at screen 0.12
set rmargin at screen 0.43
set title 'reads cost half of computing'
set ylabel 'for each needed expert'
plot of('0.5') using 4:xticlabels(2) linetype 1, '' using 5 linetype 3, '' using 6 linetype 5, '' using 7 linetype 2, '' using 8 linetype 7 fillstyle pattern 4
set title 'reads cost three times computing'
unset ylabel
set lmargin at screen 0.51
set rmargin at screen 0.81
set key outside right top vertical
plot of('3') using 4:xticlabels(2) linetype 1 title 'in memory', '' using 5 linetype 3 title 'in time', '' using 6 linetype 5 title 'late', \
     '' using 7 linetype 2 title 'missed', '' using 8 linetype 7 fillstyle pattern 4 title 'wasted'
unset multiplot
