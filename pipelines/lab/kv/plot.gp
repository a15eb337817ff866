# Perplexity of small caches divided by that of a whole float32 cache, by the bytes of a token. tsv: sweep
load plots.'/style.gp'
longest = system("awk -F'\\t' 'NR > 1 && $1 > m {m = $1} END {print m}' ".tsv)
set multiplot layout 1,2 title 'Key and value caches: ratio of perplexity to the whole float32 cache'
set title 'context '.longest
set xlabel 'bytes a token'
set ylabel 'perplexity ratio'
set logscale xy
set format y '%g'
set format x '%g'
set yrange [0.9:*]
set key outside center bottom horizontal maxcols 2 font ',9'
set bmargin 9
set autoscale xfix
set offsets graph 0.05, graph 0.05, 0, 0
of(name) = sprintf("< awk -F'\\t' -v OFS='\\t' '$1 == %s && $2 == \"%s\" && $3 == $4 {print $5, $11, $12, $13}' %s", longest, name, tsv)
plot of('low rank') using 1:2:3:4 with yerrorlines linetype 1 title 'low rank, whitened', \
     of('low rank, weights alone') using 1:2:3:4 with yerrorlines linetype 6 title 'low rank, weights alone', \
     of('low rank, q8_0') using 1:2:3:4 with yerrorlines linetype 3 title 'low rank in 8 bits', \
     of('random basis') using 1:2:3:4 with yerrorlines linetype 7 title 'random basis', \
     of('f16') using 1:2:3:4 with yerrorbars linetype 4 title '16 bits', \
     of('q8_0') using 1:2:3:4 with yerrorbars linetype 5 title '8 bits', \
     of('q4_0') using 1:2:3:4 with yerrorbars linetype 2 title '4 bits', \
     1 with lines linetype 7 linewidth 1 notitle
set title 'by context, keys and values at a half'
set xlabel 'context'
unset ylabel
of(name, k, v) = sprintf("< awk -F'\\t' -v OFS='\\t' '$2 == \"%s\" && $3 == %s && $4 == %s {print $1, $11, $12, $13}' %s", name, k, v, tsv)
set autoscale x
set xtics (64, 128, 256, 512, 1024, 2048)
plot of('low rank', '0.5', '0') using 1:2:3:4 with yerrorlines linetype 1 title 'keys', \
     of('low rank', '0', '0.5') using 1:2:3:4 with yerrorlines linetype 2 title 'values', \
     of('low rank', '0.5', '0.5') using 1:2:3:4 with yerrorlines linetype 3 title 'both', \
     of('q8_0', '1', '1') using 1:2:3:4 with yerrorlines linetype 5 title 'whole, 8 bits', \
     of('q4_0', '1', '1') using 1:2:3:4 with yerrorlines linetype 4 title 'whole, 4 bits', \
     of('merged 0.15', '1', '1') using 1:2:3:4 with yerrorlines linetype 7 title 'merged tokens, 0.15', \
     of('merged 0.3', '1', '1') using 1:2:3:4 with yerrorlines linetype 6 title 'merged tokens, 0.3'
unset multiplot
