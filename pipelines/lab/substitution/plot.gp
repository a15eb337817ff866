# Share of queries where the head's argmax of a substituted state is the true token. tsv: kind, value low high of all queries, value low high of
# the tenth nearest to a record, error.
load plots.'/style.gp'
set title 'A hidden state from a record in place of a pass'
set ylabel 'same token as of the true next state'
set yrange [0:1]
set format y '%.1f'
set xtics rotate by -25 offset 0,-0.3
set xrange [-0.6:7.6]
set key outside center bottom horizontal maxcols 2
label(s) = (s eq 'linear') ? 'linear map' : (s eq 'copy') ? 'g-nearest record' : (s eq 'copy_near') ? 'nearest, Euclidean' : \
  (s eq 'copy_whole') ? 'nearest, all dims' : (s eq 'shift') ? 'shifted' : (s eq 'other') ? 'random record' : s
plot tsv using ($0-0.12):2:3:4:xtic(label(strcol(1))) skip 1 with yerrorbars linetype 1 title 'all held-out states', \
     tsv using ($0+0.12):5:6:7 skip 1 with yerrorbars linetype 2 title 'the tenth nearest to a record'
