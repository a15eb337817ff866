# Speed by budget. tsv: case, slots, share, MB, tokens/s, low, high, hit, ahead, waste, MB a token, no overlap, look-ahead, wall
load plots.'/style.gp'
throttle = system("awk -F'\t' '$1 == \"throttle_MB_s\" {print $2}' ".info)
set title sprintf('Speed by experts in memory, disk of %.0f MB/s', throttle + 0)
set xlabel 'slots / experts'
set ylabel 'tokens a second'
set logscale y
set xrange [0:1.05]
of(columns) = sprintf("< awk -F'\t' '$1 == \"streamed\" {print %s}' %s", columns, tsv)
# once: a function of the plot would be called for each of its samples
rate(name) = real(system(sprintf("awk -F'\t' '$1 == \"%s\" {print $5}' %s", name, tsv)))
resident = rate('resident')
mmap = rate('mmap')
plot of('$3 "\t" $5 "\t" $6 "\t" $7') using 1:2:3:4 with yerrorlines linetype 1 title 'streamed, measured', \
     of('$3 "\t" $13') using 1:2 with linespoints linetype 3 title 'closed form, look-ahead', \
     of('$3 "\t" $12') using 1:2 with linespoints linetype 5 title 'closed form, no overlap', \
     of('$3 "\t" $14') using 1:2 with linespoints linetype 2 title 'wall: needed bytes', \
     resident with lines linetype 4 title 'all in memory', \
     mmap with lines linetype 7 title 'mmap, file in the page cache'
