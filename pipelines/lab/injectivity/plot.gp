# The heat-kernel estimate and the radii that it should predict. tsv: raw validity validity_censored radius censored bound cloud.
load plots.'/style.gp'
set title 'Radius estimated from a heat kernel, and measured radii'
set xlabel 'estimate before calibration'
set ylabel 'g-length'
set logscale xy
set format xy '10^{%L}'
set bmargin at screen 0.40
set key at screen 0.12, screen 0.25 left top
inf(x) = x > 1e300 ? NaN : x
plot tsv using 1:(stringcolumn(7) eq 'model' && $3 == 0 ? $2 : NaN) skip 1 with points linetype 1 pointsize 1 title sprintf('validity radius (held-out r %.2f, p %.2f)', r+0.0, p+0.0), \
     tsv using 1:(stringcolumn(7) eq 'null' && $3 == 0 ? $2 : NaN) skip 1 with points linetype 2 pointsize 1 title sprintf('the same on normal noise, control (held-out r %.2f)', nullr+0.0), \
     tsv using 1:(stringcolumn(7) eq 'model' && $5 == 0 ? $4 : NaN) skip 1 with points linetype 3 pointsize 1.2 title 'injectivity radius found', \
     tsv using 1:(stringcolumn(7) eq 'model' && $5 == 1 ? $4 : NaN) skip 1 with points linetype 6 pointtype 8 pointsize 1.2 title 'none found up to here', \
     tsv using 1:(stringcolumn(7) eq 'model' ? inf($6) : NaN) skip 1 with points linetype 5 pointtype 2 pointsize 1 title 'bound pi / sqrt(largest sectional curvature)'
