# The course of a run. tsv: seconds, token, rows, ms a token, stall, MB a token
load plots.'/style.gp'
throttle = system("awk -F'\t' '$1 == \"throttle_MB_s\" {print $2}' ".info)
set title sprintf('Course of a run: a quarter of the experts in memory, disk of %.0f MB/s', throttle + 0)
set xlabel 'token'
set ylabel 'ms a token'
set yrange [0:*]
set key inside left top
set offsets 0, 0, graph 0.2, 0
set style fill solid 0.6 noborder
plot tsv using 2:4 skip 1 with fillsteps linetype 6 title 'computing', \
     tsv using 2:5 skip 1 with fillsteps linetype 2 title 'waiting for a read', \
     tsv using 2:($6 / throttle * 1e3) skip 1 with lines linetype 7 dashtype 1 linewidth 1 title 'its bytes at the speed of the disk'
