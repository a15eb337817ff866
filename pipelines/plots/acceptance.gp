# Acceptance of a draft by its position. Files position, acceptance, low, high: one for each drafter, greedy, longest draft.
load plots.'/style.gp'
set title 'Acceptance by position of the draft'
set xlabel 'position in the draft'
set ylabel 'acceptance, given that all before are accepted'
set yrange [0:1]
set xtics 1
set xrange [0.5:*]
set offsets 0.3, 0.3, 0, 0
plot for [i=1:words(drafters)] dir.'/acceptance-'.word(drafters, i).'.tsv' using 1:2:3:4 skip 1 with yerrorlines linetype i title word(drafters, i)
