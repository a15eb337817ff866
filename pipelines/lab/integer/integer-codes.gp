# Error of keys and divergence of attention by bytes. tsv: code, key bytes, value bytes, shared, error, low, high, (of values: 3), kl, low, high, ..
load plots.'/style.gp'
set multiplot title 'Codes of keys, by the bytes of a value'
set logscale xy
set xrange [0.18:2.4]
set xtics (0.25, 0.5, 1, 2)
set xlabel 'bytes a value'
set format y '10^{%T}'
set bars 0.4
set linetype 8 linecolor rgb '#8c564b' linewidth 2 pointtype 2 pointsize 0.9
set linetype 9 linecolor rgb '#000000' linewidth 1.5 pointtype 3 pointsize 0.9
# each family with its pattern, before and after the rotation
names = 'q8_0,_q4_0,_q3 bands bands,_by_variance low_rank kivi2 h63,_two_readings v1 klt klt,_by_queries'
patterns = '^q[348] ^band-[0-9]+$ variance ^lowrank ^kivi2 ^h63 ^v1 ^klt[-0-9]*$ query'
title_of(i) = system("printf '%s' '".word(names, i)."' | tr '_' ' ' | sed 's/q\\([348]\\) 0/q\\1_0/g'")
of(i, pre, columns) = sprintf("< awk -F'\t' 'BEGIN {print \"nan\\tnan\\tnan\\tnan\"} NR > 1 {c = $1; p = sub(/\\/pre/, \"\", c); if (p == %d && c ~ /%s/) print %s | \"sort -g\"}' %s", pre, word(patterns, i), columns, tsv)
error = '$2 "\t" $5 "\t" $6 "\t" $7'
kl = '$2 "\t" $11 "\t" $12 "\t" $13'
set key off
set tmargin 4
set bmargin 4
set lmargin at screen 0.085
set rmargin at screen 0.345
set title 'relative error of keys'
plot for [i=1:words(names)] of(i, 0, error) using 1:2:3:4 with yerrorlines linetype i, \
     for [i=1:words(names)] of(i, 1, error) using 1:2:3:4 with yerrorlines linetype i dashtype 3 pointtype 6 pointsize 1
set lmargin at screen 0.42
set rmargin at screen 0.68
set title 'KL of attention, nat'
set key at screen 0.995, screen 0.86 right top vertical Left reverse noenhanced samplen 2
plot for [i=1:words(names)] of(i, 0, kl) using 1:2:3:4 with yerrorlines linetype i title title_of(i), \
     for [i=1:words(names)] of(i, 1, kl) using 1:2:3:4 with yerrorlines linetype i dashtype 3 pointtype 6 pointsize 1 notitle, \
     NaN with linespoints linetype 7 dashtype 3 pointtype 6 pointsize 1 title 'before rotation'
unset multiplot
