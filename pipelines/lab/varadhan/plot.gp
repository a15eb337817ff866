# Cosine of attention gradients with directions towards the key. tsv: metric layer keys form direction counted cosine low high ..
load plots.'/style.gp'
names = "log chord euclid stream shuffled random wrong_log wrong_euclid wrong_stream noise"
set multiplot layout 1,2 title 'Attention and geodesic directions'
set key outside center bottom horizontal maxcols 3 samplen 1.5 font ',9'
set bmargin 9
set xtics ('log map' 1, 'chord in g' 2, 'chord' 3, 'whole stream' 4, 'shuffled' 5, 'random' 6, 'other key, log' 7, 'other key' 8, \
    'other, stream' 9, 'noise' 10) rotate by 45 right font ',8'
set ylabel 'cosine of the gradient' offset 1
set xrange [0.5:10.5]
set yrange [*:*]
set xzeroaxis linetype 7
set datafile missing NaN
place(s) = (p = 0, sum [i = 1:words(names)] (word(names, i) eq s ? i : 0))
at(metric, keys, y) = strcol(1) eq metric && strcol(3) eq keys && strcol(4) eq 'pair' ? y : NaN
do for [keys in "any near"] {
    set title (keys eq 'any' ? 'random keys' : 'the nearest keys')
    plot tsv using (place(strcol(5)) - 0.2):(at('mahalanobis', keys, $7)):8:9 skip 1 with yerrorbars linetype 1 title 'Mahalanobis', \
         tsv using (place(strcol(5))):(at('fisher', keys, $7)):8:9 skip 1 with yerrorbars linetype 2 title 'Fisher', \
         tsv using (place(strcol(5)) + 0.2):(at('blend', keys, $7)):8:9 skip 1 with yerrorbars linetype 3 title 'blend'
}
unset multiplot
