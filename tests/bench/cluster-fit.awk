# cluster-fit.awk TSV: fits cpu_s = a ranks + b work to each stage of cluster.sh's table by least squares, and prints the rows
# with the model. work: rows; for neighbours (knn, metric) rows ^ 1.45, the growth of a search of 17 coordinates on its own.
BEGIN { FS = OFS = "\t" }
NR == 1 { next }
{
    s = $1; r = $3; w = s == "knn" || s == "metric" ? $5 ^ 1.45 : $5
    if (!(s in n)) order[++stages] = s
    i = ++n[s]
    ranks[s, i] = r; work[s, i] = w; cpu[s, i] = $7; rows[s, i] = $5; how[s, i] = $2
    rr[s] += r * r; rw[s] += r * w; ww[s] += w * w; ry[s] += r * $7; wy[s] += w * $7
}
END {
    print "stage", "scaling", "ranks", "n", "cpu_s", "model_s", "per_rank_s", "per_work_s"
    for (k = 1; k <= stages; k++) {
        s = order[k]
        det = rr[s] * ww[s] - rw[s] ^ 2
        a = (ry[s] * ww[s] - wy[s] * rw[s]) / det
        b = (rr[s] * wy[s] - rw[s] * ry[s]) / det
        for (i = 1; i <= n[s]; i++)
            printf "%s\t%s\t%d\t%d\t%.2f\t%.2f\t%.3f\t%.3g\n", s, how[s, i], ranks[s, i], rows[s, i], cpu[s, i], a * ranks[s, i] + b * work[s, i], a, b
    }
}
