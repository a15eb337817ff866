# Perplexity with a recombined residual stream divided by that at strength 0, by the rank of q, k and v. tsv: sweep
load plots.'/style.gp'
set multiplot layout 1,3 title 'Recombination of the residual stream over depth: ratio of perplexity to strength 0 of the same weights'
set xlabel 'strength'
unset logscale y
set autoscale yfix
set offsets 0, 0, graph 0.05, graph 0.05
set xrange [0:0.5]
set xtics 0.1
ranks = 'none 1 0.65 0.55 0.45 0.35 0.25'
of(variant, share) = sprintf("< awk -F'\\t' -v OFS='\\t' '$1 == \"%s\" && $2 == \"%s\" {print $3, $9, $10, $11}' %s", share, variant, tsv)
do for [i = 1:3] {
    variant = word('damp depth_attn block_softmax', i)
    set title variant noenhanced
    if (i == 1) { set ylabel 'perplexity ratio' } else { unset ylabel }
    if (i == 3) { set key inside left top font ',9' } else { unset key }
    plot for [k = 1:7] of(variant, word(ranks, k)) using 1:2:3:4 with yerrorlines linetype k title word(ranks, k) eq 'none' ? 'whole weights' : 'k/d '.word(ranks, k), \
         of('rescale', 'none') using 1:2 with lines linetype 7 linewidth 1 title 'rescale (control)'
}
unset multiplot
