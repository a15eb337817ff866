# Bytes a token with drafts of the n-gram. tsv: drafts, tokens, tokens a pass, distinct experts of a layer, MB a token, tokens/s
load plots.'/style.gp'
set title 'Drafts of an n-gram and the bytes they read'
set xlabel 'draft length'
set ylabel 'relative to no drafts'
set yrange [0:*]
set style data histograms
set style histogram clustered gap 1
set xtics scale 0
plain(n) = real(system(sprintf("awk -F'\t' '$1 == \"none\" {print $%d}' %s", n, tsv)))
array none[6]
do for [n=3:6] { none[n] = plain(n) }
plot tsv using ($5 / none[5]):xticlabels(1) skip 1 linetype 2 title 'bytes a token', \
     tsv using ($3 / none[3]) skip 1 linetype 1 title 'tokens a pass', \
     tsv using ($4 / none[4]) skip 1 linetype 6 title 'experts a layer and pass', \
     tsv using ($6 / none[6]) skip 1 linetype 3 title 'tokens a second', \
     1 with lines linetype 7 notitle
