# NAME.csv: x, then for each panel and side its curve and the low and high end of a band (empty: none).
# Variables: panels (titles), sides (names), floors (least value of an observable that is never negative),
# ranges of y (LOW:HIGH where a panel is flat to rounding, else -), x_label, x_logarithmic, marks (1: at each
# value), x_tics (where there are few values of x), caption, caption_lines.
count = words(panels)
number = words(sides)
wide = 3*number
columns_of_panels = count > 1 ? 2 : 1
rows_of_panels = (count + columns_of_panels - 1)/columns_of_panels
lines_of_key = (number + 2)/3
foot = 0.2 + 0.1*int(caption_lines)
head = number > 1 ? 0.14 + 0.13*lines_of_key : 0.06
height = foot + head + 0.38 + 1.45*rows_of_panels
curve(c, s) = 2 + (c-1)*wide + 3*(s-1)
above(x, least) = x < least ? least : x
if (x_logarithmic eq '1') { set logscale x; set format x '10^{%T}' }
# At most five marks on a linear axis.
stats name.'.csv' every ::1 using 1 nooutput
power = 10**floor(log10((STATS_max-STATS_min)/4.0))
share = (STATS_max-STATS_min)/4.0/power
if (x_logarithmic ne '1' && STATS_max > STATS_min) { set xtics power*(share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1) }
if (x_tics ne '') { set format x '%g'; eval 'set xtics ('.x_tics.')' }
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set label 1 caption at screen 0.02, screen (foot-0.08)/height left noenhanced font ',5.5'
  set multiplot layout rows_of_panels,columns_of_panels margins 0.16,0.97,(foot+0.34)/height,1-(head+0.14)/height spacing 0.19,0.34/height
  do for [c=1:count] {
    least = word(floors, c) eq '-' ? -1e300 : real(word(floors, c))
    set title word(panels, c)
    if (word(ranges, c) eq '-') { set autoscale y } else { eval 'set yrange ['.word(ranges, c).']' }
    if (c > count - columns_of_panels) { set xlabel x_label } else { unset xlabel }
    if (c == 1 && number > 1) { set key at screen 0.5, screen 1-0.03/height center top horizontal maxcols 3 samplen 1.5 } else { unset key }
    plot for [s=1:number] name.'.csv' every ::1 using 1:(above(column(curve(c,s)+1), least)):(above(column(curve(c,s)+2), least)) with filledcurves linetype s fillstyle transparent solid 0.25 noborder notitle, \
         for [s=1:number] '' every ::1 using 1:(column(curve(c,s))) with linespoints linetype s pointtype 7 pointsize (marks eq '1' ? 0.5 : 0) title word(sides, s)
    unset label 1
  }
  unset multiplot
  unset output
}
