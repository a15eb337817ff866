# Rejected drafts. tsv: drafter, shares of rank 2, 3-10, beyond; rejection rate of punctuation, blanks, word starts, insides, others; later, warm-up.
load plots.'/style.gp'
set multiplot layout 1,2
set style data histograms
set style histogram rowstacked
set boxwidth 0.7
set yrange [0:1]
set xtics rotate by -30
set title 'Rank of a rejected draft in the model'
set ylabel 'share of the rejected'
set key outside center bottom horizontal maxcols 3
set bmargin 9
plot tsv using 2:xtic(1) skip 1 linetype 1 title 'second', \
     tsv using 3 skip 1 linetype 6 title '3 to 10', \
     tsv using 4 skip 1 linetype 2 title 'beyond'
set style histogram clustered gap 1
set key outside center bottom horizontal maxcols 2
set ylabel 'rejected / reached'
models = sprintf("< grep -v '^uniform' %s", tsv)
set title 'Drafts rejected, by kind of token'
plot models using 5:xtic(1) skip 1 linetype 1 title 'punctuation', \
     models using 7 skip 1 linetype 2 title 'word start', \
     models using 8 skip 1 linetype 3 title 'inside', \
     models using 11 skip 1 linetype 5 title 'first 4 tokens', \
     models using 10 skip 1 linetype 7 title 'all later'
unset multiplot
