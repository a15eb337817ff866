# Shared style of all figures. Called with: format = 'svg' | 'png', out, and the data files of the script.
if (!exists("format")) format = 'svg'
if (format eq 'svg') {
    set terminal svg size 760,460 dynamic font 'DejaVu Sans,13' background '#ffffff'
} else {
    set terminal pngcairo size 1520,920 font 'DejaVu Sans,13' fontscale 1.7 linewidth 2 background '#ffffff'
}
set output out
set datafile separator "\t"
set datafile missing "nan"
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb '#333333'
set grid linecolor rgb '#dddddd' linewidth 0.6 linetype 1
set key outside right top vertical Left reverse noenhanced samplen 2 textcolor rgb '#222222'
set style fill solid 0.85 noborder
# Okabe and Ito's palette, which is distinguishable with all kinds of colour vision.
set linetype 1 linecolor rgb '#0072b2' linewidth 2 pointtype 7 pointsize 0.6
set linetype 2 linecolor rgb '#d55e00' linewidth 2 pointtype 5 pointsize 0.6
set linetype 3 linecolor rgb '#009e73' linewidth 2 pointtype 9 pointsize 0.7
set linetype 4 linecolor rgb '#cc79a7' linewidth 2 pointtype 11 pointsize 0.7
set linetype 5 linecolor rgb '#e69f00' linewidth 2 pointtype 13 pointsize 0.7
set linetype 6 linecolor rgb '#56b4e9' linewidth 2 pointtype 4 pointsize 0.7
set linetype 7 linecolor rgb '#555555' linewidth 1.5 dashtype 2 pointtype 6 pointsize 0.6
