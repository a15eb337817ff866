# Cost of a score. tsv: dim, context, method, state, multiplications, bytes, ns a score, ratio to direct int16, exact
load plots.'/style.gp'
dim = system("awk -F'\t' 'NR > 1 {if ($1 == 256) d = 256; else if (d != 256 && $1 > d) d = $1} END {print d}' ".tsv)
set title sprintf('Cost of a score of attention, %s values', dim)
set xlabel 'context'
set ylabel 'ns a score'
set logscale xy
set format y '%g'
set offsets graph 0.1, graph 0.1, 0, 0
contexts = system("awk -F'\t' 'NR > 1 && !seen[$2]++ {print $2}' ".tsv)
set xtics ()
do for [i=1:words(contexts)] { set xtics add (word(contexts, i) real(word(contexts, i))) }
# without the transforms of a key and of a query alone
methods = system("awk -F'\t' 'NR > 1 && $3 !~ /^(key|query)-/ && !seen[$3]++ {print $3}' ".tsv)
of(method, state) = sprintf("< awk -F'\t' 'BEGIN {print \"nan\tnan\"} $1 == \"%s\" && $3 == \"%s\" && $4 == \"%s\" {print $2 \"\t\" $7}' %s", dim, method, state, tsv)
plot for [i=1:words(methods)] of(word(methods, i), 'hot') using 1:2 with linespoints linetype i title word(methods, i), \
     for [i=1:words(methods)] of(word(methods, i), 'streamed') using 1:2 with linespoints linetype i dashtype 3 title i == 1 ? 'dotted: streamed' : ''
