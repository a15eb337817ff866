# Tokens a pass by size of the tree: model, mode, setting, drafts, n-gram value low high, flow map value low high, mixture value low high.
load plots.'/style.gp'
set title 'Tokens a pass, by drafts of a tree (every position)'
set xlabel 'drafts of a tree'
set ylabel 'tokens a pass'
set logscale x 2
set yrange [1:*]
set offsets graph 0.05, graph 0.05, graph 0.05, 0
is(m) = stringcolumn(2) eq m && stringcolumn(3) eq 'tree-every-position'
set bars small
plot for [i=0:2] tsv using (is('greedy') ? column(4)*(1+0.02*(i-1)) : NaN):(column(5+3*i)):(column(6+3*i)):(column(7+3*i)) every ::1 \
         with yerrorlines linetype i+1 title word('n-gram flow-map mixture', i+1).', greedy', \
     for [i=0:2] tsv using (is('sampled') ? column(4)*(1+0.02*(i-1)) : NaN):(column(5+3*i)) every ::1 \
         with lines linetype i+1 dashtype 2 title word('n-gram flow-map mixture', i+1).', sampled', \
     for [i=0:2] tsv using (is('sampled') ? column(4)*(1+0.02*(i-1)) : NaN):(column(5+3*i)):(column(6+3*i)):(column(7+3*i)) every ::1 \
         with yerrorbars linetype i+1 notitle
