# Variance explained by the leading components, and K(N). spectrum: cumulative share; subsets: points components control_components
load plots.'/style.gp'
set multiplot layout 1,2
set xtics 20
set title 'Spectrum'
set xlabel 'components'
set ylabel 'share of variance'
set yrange [0:1]
set key inside right bottom
plot spectrum using 1:2 skip 1 with lines linetype 1 title 'cloud', 0.95 with lines linetype 7 title '95 %'
set title 'Components for 95 %'
set xlabel 'points N'
set ylabel 'K(N)'
set xtics auto
set logscale x 2
set autoscale y
set yrange [0:*]
set key inside right bottom
plot subsets using 1:2 skip 1 with linespoints linetype 1 title 'cloud', \
     subsets using 1:3 skip 1 with linespoints linetype 2 dashtype 2 pointtype 4 pointsize 1.2 title 'Gaussian control'
unset multiplot
