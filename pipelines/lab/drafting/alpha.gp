# Acceptance by draft length. Blocks of a drafter: gamma, accepted / proposed value low high, tokens a pass value low high, closed form, by position.
load plots.'/style.gp'
set title 'Acceptance by draft length (greedy, decoding loop)'
set xlabel 'draft length'
set ylabel 'accepted / proposed'
set logscale x 2
set yrange [0:1]
set offsets graph 0.05, graph 0.05, 0, 0
blocks = int(system(sprintf("grep -c '^[a-z]' %s", tsv)))
plot for [i=0:blocks-1] tsv index i using 1:2:3:4 with yerrorlines linetype i+1 title columnheader(1)
