# Coverage against distance with a quarter of the points cached. tsv: eps hit p10 p90 null null_sd leaky second second_sd; closed:
# closed form; second: name of the second null
load plots.'/style.gp'
set title 'Coverage: held-out states with a cached state within eps (a quarter cached)'
set xlabel 'eps, g-distance'
set ylabel 'share of held-out states'
set yrange [0:1.02]
set key inside right bottom
plot tsv using 1:3:4 skip 1 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.2 notitle, \
     tsv using 1:2 skip 1 with linespoints linetype 1 title 'hidden states, metric of cached states only', \
     tsv using 1:5:($6*2) skip 1 with yerrorlines linetype 2 title 'Gaussian clouds (control, 2 sd)', \
     tsv using 1:8:($9*2) skip 1 with yerrorlines linetype 3 title sprintf('%s surrogates (control, 2 sd)', second), \
     tsv using 1:7 skip 1 with linespoints linetype 5 dashtype 3 title 'metric fitted on the held-out states too', \
     closed+0.0 with lines linetype 7 title 'counting identity 1 - C(N-1-k,c)/C(N-1,c)'
