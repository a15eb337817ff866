# Training with and without a penalty: one panel for each quantity, one point for each seed. tsv: shf-table's columns.
load plots.'/style.gp'
set multiplot layout 2,3 title 'Training with a penalty on departures from geodesics'
unset key
set xtics ('none' 0, 'fitted' 1, 'flat' 2)
set xrange [-0.5:2.5]
place(kind) = kind eq 'plain' ? 0 : (kind eq 'fitted' ? 1 : 2)
panel(column, name) = sprintf("plot tsv using (place(strcol(1)) + 0.08 * ($2 - 2)):%d skip 1 with points linetype 1 pointsize 1", column)
do for [i = 3:8] {
    set title word('bits/byte turn/step geodesic/line |curvature| radius accepted', i - 2) noenhanced
    set yrange [*:*]
    eval panel(i, '')
}
unset multiplot
