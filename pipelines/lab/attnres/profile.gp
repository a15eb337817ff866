# Length of the residual stream and of its updates by layer, one model (the first of the table). tsv: profiles
load plots.'/style.gp'
first = system("awk -F'\\t' 'NR == 2 {print $1}' ".tsv)
of(file) = sprintf("< awk -F'\\t' -v OFS='\\t' '$1 == \"%s\"' %s", file, tsv)
files = system("awk -F'\\t' 'NR > 1 && !seen[$1]++ {print $1}' ".tsv)
set multiplot layout 1,2 title 'Lengths of the residual stream by depth'
set title first noenhanced
set xlabel 'layer'
set ylabel 'mean length'
set logscale y
set format y '%g'
set xtics 1
set autoscale yfix
set key inside left top font ',9'
plot of(first) using 3:4:5 with yerrorlines linetype 1 title 'stream', \
     of(first) using 3:6:7 with yerrorlines linetype 2 title 'updates of attention', \
     of(first) using 3:8:9 with yerrorlines linetype 3 title 'updates of feed-forward', \
     of(first) using 3:10 with lines linetype 6 title 'stream, root mean square', \
     of(first) using 3:11 with lines linetype 7 title 'stream for orthogonal updates'
set title 'stream divided by that after layer 1'
set xlabel 'layer'
unset ylabel
set logscale x
set xrange [1:*]
set xtics (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
set ytics (1, 2, 3, 5, 10, 20, 50)
set key inside left top font ',6' spacing 0.8
base(file) = real(system(sprintf("awk -F'\\t' '$1 == \"%s\" && $3 == 1 {print $4}' %s", file, tsv)))
plot for [f in files] b = base(f) of(f) using ($3 > 0 ? $3 : 1/0):($4 / b) with linespoints title f, \
     [1:*] sqrt(x) with lines linetype 7 title 'square root'
unset multiplot
