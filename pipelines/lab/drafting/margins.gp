# The papers' lossy rule, an experiment: drafter, margin, perplexity value low high, different, not the argmax, tokens a pass.
load plots.'/style.gp'
set multiplot layout 1,2
set xlabel 'margin (nat), 0 = exact'
set xrange [-0.1:3]
set key outside center bottom horizontal maxcols 2
set bmargin 7
names = system(sprintf("tail -n +2 %s | cut -f 1 | uniq | tr '\n' ' '", tsv))
is(i) = stringcolumn(1) eq word(names, i)
set title 'Lossy rule: perplexity of the text'
set ylabel 'perplexity'
set bars small
plot for [i=1:words(names)] tsv using (is(i) ? column(2) + 0.05 * (i - 1 - words(names) / 2) : NaN):3:4:5 every ::1 with yerrorlines linetype i title word(names, i)
set title 'Unlike greedy (lines), argmax (dashes)'
set ylabel 'share of the tokens'
set yrange [0:1]
plot for [i=1:words(names)] tsv using (is(i) ? column(2) : NaN):6 every ::1 with linespoints linetype i title word(names, i), \
     for [i=1:words(names)] tsv using (is(i) ? column(2) : NaN):7 every ::1 with linespoints linetype i dashtype 2 notitle
unset multiplot
