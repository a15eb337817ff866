# Recall by layer and predictor. tsv: a block for each predictor: layer, value, low, high. names: predictors, separated by commas
load plots.'/style.gp'
set title 'Used experts among as many foretold, by layer and predictor'
set xlabel 'layer'
set ylabel 'share'
set yrange [0:1]
set xtics 1
set offsets 0.2, 0.2, 0, 0
set linetype 8 linecolor rgb '#8c564b' linewidth 2 pointtype 2 pointsize 0.7
set linetype 9 linecolor rgb '#000000' linewidth 1.5 pointtype 1 pointsize 0.7
# the control is the last but two, dashed
shown = 'mix1 router1 flowmap router2 token last popular pair expertmaps'
index_of(name) = system(sprintf("printf '%s' '%s' | tr ',' '\\n' | grep -nx '%s' | cut -d: -f1", '%s', names, name)) - 1
array at[words(shown)]
do for [i=1:words(shown)] { at[i] = index_of(word(shown, i)) }
plot for [i=1:words(shown)] tsv index at[i] using 1:2:3:4 with yerrorlines linetype i title columnheader(1)
