# Hits by slots of a layer and policy. tsv: policy, slots of a layer, share, hit, wasted, bound
load plots.'/style.gp'
set title 'Needed experts in memory, by slots and policy'
set xlabel 'slots of a layer / experts'
set ylabel 'share of the needed experts'
set xrange [0:1]
set yrange [0:1]
of(name) = sprintf("< awk -F'\t' '$1 == \"%s\" {print $3 \"\t\" $4}' %s", name, tsv)
plot "< awk -F'\t' '$1 == \"belady\" {print $3 \"\t\" $6}' ".tsv using 1:2 with lines linetype 7 title 'bound (Belady, no quotas)', \
     of('belady') using 1:2 with linespoints linetype 3 title 'belady', \
     of('score') using 1:2 with linespoints linetype 1 title 'score', \
     of('lfu') using 1:2 with linespoints linetype 5 title 'lfu', \
     of('lru') using 1:2 with linespoints linetype 2 title 'lru', \
     of('static') using 1:2 with linespoints linetype 4 title 'static', \
     of('score, router') using 1:2 with linespoints linetype 6 title 'score, router ahead', \
     of('score, oracle') using 1:2 with linespoints linetype 6 dashtype 3 title 'score, oracle ahead', \
     x with lines linetype 7 dashtype 3 title 'uniform loads'
