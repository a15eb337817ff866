# Cosines of predicted and true next steps. tsv: surrogate counted cosine low high metric low high leak low high, control low high.
load plots.'/style.gp'
set title 'Predictability of the next step'
set key outside center bottom horizontal maxcols 4 samplen 1.5 font ',9'
set bmargin 9
set xtics rotate by 45 right font ',9'
set ylabel 'cosine with the true step' offset 1
set yrange [-0.8:1.05]
set offsets 0.5, 0.5, 0, 0
set xzeroaxis linetype 7
set datafile missing 'NaN'
plot tsv using ($0-0.15):3:4:5:xtic(1) skip 1 with yerrorbars linetype 1 title 'in the chart', \
     tsv using ($0):6:7:8 skip 1 with yerrorbars linetype 2 title 'in the metric', \
     tsv using ($0+0.15):12:13:14 skip 1 with yerrorbars linetype 5 pointtype 2 title 'with the step of another text (control)', \
     tsv using ($0+0.3):9 skip 1 with points linetype 3 pointtype 8 title 'leak: loss with the future of another text'
