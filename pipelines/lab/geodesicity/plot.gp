# Left: error by steps ahead, from token to token. Right: error of geodesics minus that of the line, from layer to layer. tsv: along metric
# layer predictor m error low high difference low high.
load plots.'/style.gp'
set multiplot layout 1,2 title 'Prediction of residual streams by geodesics'
set key outside center bottom horizontal maxcols 2 samplen 1.5 font ',9'
set bmargin 8
set xlabel 'steps ahead' offset 0,0.5
set ylabel 'error, mean steps' offset 1
set title 'from token to token, last layer'
set xtics 1
set yrange [0:*]
set xrange [0.8:*]
is(along, metric, predictor) = (strcol(1) eq along && strcol(2) eq metric && strcol(4) eq predictor)
t(metric, predictor, y) = is('tokens', metric, predictor) ? y : NaN
set datafile missing NaN
plot tsv using 5:(t('mahalanobis','geodesic',$6)) skip 1 with linespoints linetype 1 title 'geodesic, Mahalanobis', \
     tsv using 5:(t('fisher','geodesic',$6)) skip 1 with linespoints linetype 2 title 'geodesic, Fisher', \
     tsv using 5:(t('mahalanobis','shuffled',$6)) skip 1 with linespoints linetype 1 dashtype 3 title 'Mahalanobis shuffled', \
     tsv using 5:(t('fisher','shuffled',$6)) skip 1 with linespoints linetype 2 dashtype 3 title 'Fisher shuffled', \
     tsv using 5:(t('mahalanobis','line',$6)) skip 1 with linespoints linetype 7 title 'straight line', \
     tsv using 5:(t('mahalanobis','stay',$6)) skip 1 with linespoints linetype 5 title 'no movement', \
     tsv using 5:(t('mahalanobis','linear_xv',$6)) skip 1 with linespoints linetype 3 title 'linear map'
set title 'from layer to layer, one step'
set xlabel 'layer of the start' offset 0,0.5
set ylabel 'error minus that of the line, mean steps' offset 1
set yrange [*:*]
set xzeroaxis linetype 7
set xrange [*:*]
set offsets 0.3, 0.3, 0, 0
l(metric, predictor, y) = is('layers', metric, predictor) && $5 == 1 ? y : NaN
plot tsv using ($3-0.15):(l('mahalanobis','geodesic',$9)):10:11 skip 1 with yerrorbars linetype 1 title 'geodesic, Mahalanobis', \
     tsv using ($3-0.05):(l('fisher','geodesic',$9)):10:11 skip 1 with yerrorbars linetype 2 title 'geodesic, Fisher', \
     tsv using ($3+0.05):(l('mahalanobis','shuffled',$9)):10:11 skip 1 with yerrorbars linetype 5 title 'Mahalanobis shuffled', \
     tsv using ($3+0.15):(l('mahalanobis','linear_xv',$9)):10:11 skip 1 with yerrorbars linetype 3 title 'linear map'
unset multiplot
