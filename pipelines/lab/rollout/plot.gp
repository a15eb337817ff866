# The ablation of the geometric rollout. tsv: step top1 low high top8 low high claimed low high ...
load plots.'/style.gp'
set title 'Drafts of a geometric rollout (held-out positions)'
set key outside center bottom horizontal samplen 1.5 font ',9'
set bmargin 9
set xtics rotate by 45 right noenhanced font ',9'
set ylabel 'share of positions'
set yrange [0:1]
set offsets 0.5, 0.5, 0, 0
plot tsv using ($0-0.1):2:3:4:xtic(1) skip 1 with yerrorbars linetype 1 title 'first token right', \
     tsv using ($0):8:9:10 skip 1 with yerrorbars linetype 5 pointtype 2 title 'claimed for the first token', \
     tsv using ($0+0.1):5:6:7 skip 1 with yerrorbars linetype 2 title 'right among the first eight'
