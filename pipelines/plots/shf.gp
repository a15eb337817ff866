# Penalised against plain training: one panel a quantity, one point a seed. tsv: kind seed bits residual residual_kinetic geodesic_gain
# curvature radius acceptance (shf-table).
load plots.'/style.gp'
set multiplot layout 2,3 title 'Training with a penalty on departures from geodesics'
unset key
set xtics ('none' 0, 'fitted' 1, 'flat' 2)
set xrange [-0.5:2.5]
place(kind) = kind eq 'plain' ? 0 : (kind eq 'fitted' ? 1 : 2)
panel(column, name) = sprintf("plot tsv using (place(strcol(1)) + 0.08 * ($2 - 2)):%d skip 1 with points linetype 1 pointsize 1", column)
do for [i = 3:8] {
    set title word('bits\_per\_byte turn\_of\_the\_stream geodesic/line\_error |scalar\_curvature| validity\_radius first\_draft\_accepted', i - 2) noenhanced
    set yrange [0:*]
    eval panel(i, '')
}
unset multiplot
