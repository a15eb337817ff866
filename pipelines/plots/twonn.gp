# Dimension by sample size with bootstrap intervals. subsets: points dimension low high control control_low control_high plain_fit
load plots.'/style.gp'
set title 'Intrinsic dimension (TwoNN without time neighbours, corrected)'
set xlabel 'points N' offset 0, 0.4
set ylabel 'dimension'
set logscale x 2
set yrange [0:*]
set key outside center bottom horizontal maxcols 2
set offsets graph 0.05, graph 0.05, 0, 0
plot subsets using 1:2:3:4 skip 1 with yerrorlines linetype 1 title 'hidden states', \
     subsets using 1:5:6:7 skip 1 with yerrorlines linetype 2 title 'Gaussian cloud, same spectrum (control)', \
     subsets using 1:8 skip 1 with linespoints linetype 3 title 'hidden states, plain TwoNN (10 % trim)'
