# Distinct results by build and model. tsv: x, y, result, build, row, several
load plots.'/style.gp'
set title 'Distinct results over builds'
set lmargin at screen 0.28
set rmargin at screen 0.97
set bmargin at screen 0.30
set palette defined (1 '#0072b2', 2 '#e69f00', 3 '#009e73', 4 '#cc79a7', 5 '#d55e00', 6 '#56b4e9', 7 '#8c564b', 8 '#888888')
set cbrange [1:8]
unset colorbox
unset grid
set key off
stats tsv using 1 skip 1 name 'x' nooutput
stats tsv using 2 skip 1 name 'y' nooutput
set xrange [0.5:x_max + 0.5]
set yrange [0.5:y_max + 0.5]
set xtics rotate by 90 right scale 0 font ',8' noenhanced
set ytics scale 0 font ',9' noenhanced
set style fill solid 1 border rgb '#ffffff'
plot tsv using 1:2:(0.48):(0.46):($3 > 8 ? 8 : $3):xticlabels(4):yticlabels(5) skip 1 with boxxyerror linecolor palette, \
     tsv using 1:2:(sprintf('%d%s', $3, $6 > 1 ? '*' : '')) skip 1 with labels font ',8' textcolor rgb '#ffffff'
