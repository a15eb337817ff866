# Rank correlation of lengths in each metric with the true divergence. tsv: kind, value low high within the chart, value low high of
# the whole state.
load plots.'/style.gp'
set title 'Metrics and the divergence of the model''s output'
set ylabel 'rank correlation with the divergence'
set yrange [-1:1.05]
set ytics 0.25
set xtics rotate by -25 offset 0,-0.3
set xrange [-0.6:7.6]
set key outside center bottom horizontal maxcols 2
set xzeroaxis linetype 7
label(s) = (s eq 'shuffled_head') ? 'head shuffled' : (s eq 'permuted') ? 'points shuffled' : (s eq 'trace') ? 'no directions' : \
  (s eq 'whole') ? 'whole stream' : (s eq 'fisher') ? 'Fisher' : (s eq 'mahalanobis') ? 'Mahalanobis' : (s eq 'euclidean') ? 'Euclidean' : s
plot tsv using ($0-0.12):2:3:4:xtic(label(strcol(1))) skip 1 with yerrorbars linetype 1 title 'steps within the chart', \
     tsv using ($0+0.12):5:6:7 skip 1 with yerrorbars linetype 2 title 'whole states, replaced by the neighbour'
