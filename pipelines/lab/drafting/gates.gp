# Confidence gates. Blocks of a drafter; in each a curve a draft length: threshold, gamma, acceptance, tokens a pass, drafts a round.
load plots.'/style.gp'
set multiplot layout 1,2
set xlabel 'threshold on confidence'
set xrange [-0.02:0.9]
set yrange [0:*]
set key outside center bottom horizontal maxcols 2
set bmargin 7
blocks = int(system(sprintf("grep -c '^[a-z]' %s", tsv)))
set ylabel 'accepted / proposed'
last(i) = system(sprintf("awk -v b=%d 'NF == 0 {e++; next} {if (e >= 2) k++; e = 0} k == b && NF > 2 {g = $2} END {print g}' %s", i, tsv)) + 0
array longest[blocks]
do for [i=1:blocks] { longest[i] = last(i - 1) }
set title sprintf('Accepted, drafts of up to %d', longest[1])
plot for [i=0:blocks-1] tsv index i using 1:($2 == longest[i + 1] ? $3 : 1/0) with linespoints linetype i+1 title columnheader(1)
set ylabel 'tokens a pass'
set title sprintf('Tokens a pass, drafts of up to %d', longest[1])
plot for [i=0:blocks-1] tsv index i using 1:($2 == longest[i + 1] ? $4 : 1/0) with linespoints linetype i+1 title columnheader(1), \
     1 with lines linetype 7 title 'plain'
unset multiplot
