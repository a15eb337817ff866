# Change of the perplexity by configuration. tsv: place, model, bits, config, reading, changed, tokens, base, perplexity, change, se, ..; info: arithmetic.tsv
load plots.'/style.gp'
set title 'Perplexity of models encoded in the ring, 12 bits'
set ylabel 'change of the perplexity, %'
models = system("awk -F'\t' 'NR > 1 && !seen[$2]++ {print $2}' ".tsv)
# models stand next to each other at the x of a case
cases = 'plain,- B,2 B,1 E,2 E,1'
names = 'encoded B,_scaling B,_Frobenius E,_scaling E,_Frobenius'
of(model, i) = sprintf("< awk -F'\t' '$2 == \"%s\" && $3 == 12 {split(\"%s\", c, \" \"); for (k = 1; k <= 5; k++) if (c[k] == $4 \",\" $5) print k + %f \"\t\" 100 * $10 \"\t\" 200 * $11}' %s", model, cases, (i - (words(models) + 1) / 2.0) * 0.16, tsv)
set xrange [0.5:5.5]
set xtics () scale 0
set bmargin 3.5
printed = 100 * real(system("awk -F'\t' '$1 == \"config-b\" {print $3}' ".info))
do for [k=1:5] { set xtics add (system("printf '%s' '".word(names, k)."' | tr '_' '\\n'") k) }
set grid ytics
set grid noxtics
set bars 0.6
plot 0 with lines linetype 7 notitle, printed with lines linetype 7 dashtype 3 title sprintf('B as printed, %+.3f %%', printed), \
     for [i=1:words(models)] of(word(models, i), i) using 1:2:3 with yerrorbars linetype i pointsize 1 title word(models, i)
