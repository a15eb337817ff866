# Steps of the flow map's ablation at trees of 16: step, drafter, mode, setting, drafts, tokens, low, high, ...
load plots.'/style.gp'
set title 'Tokens a pass, trees of 16 (greedy, every position)'
set ylabel 'tokens a pass'
set xtics rotate by 35 right noenhanced
set yrange [1:*]
set offsets 0.5, 0.5, graph 0.05, 0
set key off
steps = sprintf("< awk -F'\t' -v OFS='\t' '$3 == \"greedy\" && $4 == \"tree-every-position\" && $5 == 16 {print ($1 == \"counts\" || $1 == \"mixture\" ? $2 : $1), $6, $7, $8}' %s", tsv)
plot steps using 0:2:3:4:xticlabels(1) with yerrorbars linetype 1
