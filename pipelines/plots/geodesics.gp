# Geodesics in the first two coordinates over the cloud; colour: scalar curvature. cloud: x y; curvature: x y scalar; paths: x y
# with a blank line between paths; limit: end of the colour scale.
load plots.'/style.gp'
set title 'Geodesics over the cloud, coloured by scalar curvature'
set xlabel 'first principal coordinate' offset 0, 0.4
set ylabel 'second principal coordinate'
set key outside center bottom horizontal maxcols 3
set palette defined (-1 '#0072b2', 0 '#eeeeee', 1 '#d55e00')
set cbrange [-limit:limit]
set cblabel 'scalar curvature'
plot cloud using 1:2 skip 1 with points pointtype 7 pointsize 0.15 linecolor rgb '#bbbbbb' title 'hidden states', \
     curvature using 1:2:3 skip 1 with points pointtype 7 pointsize 0.55 linecolor palette title 'curvature samples', \
     paths using 1:2 with lines linecolor rgb '#222222' linewidth 1.4 title 'geodesics'
