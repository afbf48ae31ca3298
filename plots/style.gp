# The common look of all figures: column width 3.4 in, Okabe-Ito colours (told apart by
# colour-blind readers), text of 7 pt on paper.
set encoding utf8
set datafile separator ','
set datafile missing ''
black = '#000000'; orange = '#E69F00'; sky = '#56B4E9'; green = '#009E73'
blue = '#0072B2'; red = '#D55E00'; pink = '#CC79A7'; grey = '#777777'
set linetype 1 linecolor rgb blue linewidth 1.2 dashtype 1
set linetype 2 linecolor rgb red linewidth 1.2 dashtype 1
set linetype 3 linecolor rgb green linewidth 1.2 dashtype 1
set linetype 4 linecolor rgb pink linewidth 1.2 dashtype 1
set linetype 5 linecolor rgb orange linewidth 1.2 dashtype 1
set linetype 6 linecolor rgb sky linewidth 1.2 dashtype 1
set linetype 7 linecolor rgb black linewidth 1.2 dashtype 1
set border 3 linewidth 0.5
set tics nomirror out scale 0.5
set xtics offset 0,0.3
set key samplen 2
# 96 dots an inch on a screen, 72 points on paper, 300 dots an inch in the PNG. The svg terminal
# reckons with lines half as high again and wider letters, so what is placed in units of letters
# is corrected there: `line` scales the distance of lines, `up` and `right` move axis labels, `tight`
# moves numbers and titles towards their axes.
terminal(kind, height) = kind eq 'svg' ? \
    sprintf("set terminal svg size 326,%d fixed font 'Helvetica,9.3' linewidth 1.2 background 'white'; tight = 0.3; line = 0.67; up = 0.55; right = 1.2", 96*height) : \
  kind eq 'pdf' ? \
    sprintf("set terminal pdfcairo size 3.4in,%.2fin font 'Helvetica,7' fontscale 1 linewidth 1 pointscale 0.5 dashlength 0.6; tight = 0; line = 1; up = 0; right = 0", height) : \
    sprintf("set terminal pngcairo size 1020,%d font 'Helvetica,7' fontscale 3.1 linewidth 4 pointscale 2 dashlength 0.45; tight = 0; line = 1; up = 0; right = 0", 300*height)
# After the terminal, for each picture.
labels = "set xlabel '' offset 0,0.5+up; set ylabel '' offset 1+right,0; set key spacing 1.05*line; set xtics offset 0,0.3+tight; set title '' offset 0,-0.8-tight"
# Ranges that fit the usual parameters of a figure; with the user's own the data tell them.
if (!exists('own')) own = '0'
x_range(usual, other) = sprintf('set xrange [%s] noextend', own eq '1' ? other : usual)
y_range(usual, other) = sprintf('set yrange [%s] noextend', own eq '1' ? other : usual)
