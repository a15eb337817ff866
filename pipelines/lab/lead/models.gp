# Difference of the mixture from the n-gram at trees of 16, by model: lead.tsv of all models.
load plots.'/style.gp'
set title 'Mixture minus n-gram: tokens a pass, trees of 16 (every position)'
set ylabel 'difference in tokens a pass'
set xtics rotate by 45 right noenhanced font ',9'
set xzeroaxis linetype 7
set offsets 0.5, 0.5, graph 0.05, graph 0.05
cut(m) = sprintf("< awk -F'\t' -v OFS='\t' '$2 == \"%s\" && $3 == \"tree-every-position\" && $4 == 16 {print $1, $17, $18, $19}' %s", m, tsv)
plot cut('greedy') using 0:2:xticlabels(1) with points pointtype -1 notitle, \
     cut('greedy') using ($0-0.1):2:3:4 with yerrorbars linetype 1 title 'greedy', \
     cut('sampled') using ($0+0.1):2:3:4 with yerrorbars linetype 2 title 'sampled'
