# The common look of all figures: column width 3.4 in, Okabe-Ito colours (which colour-blind
# readers distinguish), text of 7 pt on paper.
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
set linetype cycle 7
set border 3 linewidth 0.5
set tics nomirror out scale 0.5
set xtics offset 0,0.3
set format x '%h'  # the usual '% h' has a blank in front, which moves the number off its mark
set key samplen 2
# 96 dots an inch on a screen, 72 points on paper, 300 dots an inch in the PNG. The pdfcairo terminal
# makes text 4/3 as large as it is asked to. The svg terminal reckons with lines half as high again and
# wider letters, so what is placed in units of letters is corrected there: `line` scales the distance of
# lines, `up` and `right` move axis labels, `tight` moves numbers and titles towards their axes. `none`: a
# first time, for the ranges of the axes only.
terminal(kind, height) = kind eq 'none' ? 'set terminal dumb; tight = 0; line = 1; up = 0; right = 0' : kind eq 'svg' ? \
    sprintf("set terminal svg size 326,%d fixed font 'Helvetica,9.3' linewidth 1.2 background 'white'; tight = 0.3; line = 0.67; up = 0.55; right = 1.2", 96*height) : \
  kind eq 'pdf' ? \
    sprintf("set terminal pdfcairo size 3.4in,%.2fin font 'Helvetica,7' fontscale 0.75 linewidth 1.8 pointscale 0.85 dashlength 0.45; tight = 0; line = 1; up = 0; right = 0", height) : \
    sprintf("set terminal pngcairo size 1020,%d font 'Helvetica,7' fontscale 3.1 linewidth 4 pointscale 2 dashlength 0.45; tight = 0; line = 1; up = 0; right = 0", 300*height)
# After the terminal, for each picture.
labels = "set xlabel '' offset 0,0.5+up; set ylabel '' offset 1+right,0; set key spacing 1.05*line; set xtics offset 0,0.3+tight; set title '' offset 0,-0.8-tight"
# Ranges that fit the usual parameters of a figure; with the user's own those of the data.
if (!exists('own')) own = '0'
given = own eq '1'
x_range(usual, other) = sprintf('set xrange [%s] noextend', given ? other : usual)
y_range(usual, other) = sprintf('set yrange [%s] noextend', given ? other : usual)
# Marks of an axis from low to high: at most five on a linear one, and on a logarithmic one several within a
# decade or two as well.
nice(step) = (power = 10.0**floor(log10(step)), step/power > 5.001 ? 10*power : step/power > 2.001 ? 5*power : step/power > 1.001 ? 2*power : power)
inside(at, low, high) = at >= low*(1-1e-9) && at <= high*(1+1e-9) ? sprintf('%.10g,', at) : ''
multiples(at, step, high) = at > high*(1+1e-9) ? '' : sprintf('%.10g,', at).multiples(at+step, step, high)
of_decades(power, low, high) = power > high ? '' : inside(power, low, high).inside(2*power, low, high).inside(5*power, low, high).of_decades(10*power, low, high)
listed(axis, marks) = sprintf("set format %s '%%g'; set %stics (%s)", axis, axis, marks[1:strlen(marks)-1])
marks_of(axis, low, high, logarithmic) = \
  !(high > low) ? sprintf('set %stics autofreq', axis) : \
  !logarithmic ? sprintf('set %stics %.10g', axis, nice((high-low)/4.0)) : \
  high/low < 10 ? (step = nice((high-low)/4.0), listed(axis, multiples(step*ceil(low/step*(1-1e-9)), step, high))) : \
  high/low < 100 ? listed(axis, of_decades(10.0**floor(log10(low)), low, high)) : sprintf('set %stics autofreq', axis)
