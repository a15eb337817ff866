# The course of a run. tsv: seconds, token, rows, ms a token, stall, MB a token
load plots.'/style.gp'
throttle = system("awk -F'\t' '$1 == \"throttle_MB_s\" {print $2}' ".info)
set title sprintf('Course of a run: a quarter of the experts in memory, disk of %.0f MB/s', throttle + 0)
set xlabel 'token'
set ylabel 'ms a token'
# a token that waited long would flatten the others: the frame is four times the median, and says how many are above
data = "< sed 1d ".tsv
stats data using 4 nooutput
top = 4 * STATS_median < STATS_max ? 4 * STATS_median : 1.3 * STATS_max
stats data using ($4 > top ? 1 : 0) name 'above' nooutput
if (above_sum > 0) set xlabel sprintf('token (%d of %d points are above the frame, up to %.0f ms)', above_sum, above_records, STATS_max)
set yrange [0:top]
set style fill solid 0.6 noborder
plot tsv using 2:4 skip 1 with fillsteps linetype 6 title 'computing', \
     tsv using 2:5 skip 1 with fillsteps linetype 2 title 'waiting', \
     tsv using 2:($6 / throttle * 1e3) skip 1 with lines linetype 7 dashtype 1 linewidth 1 title 'time of its bytes'
