# NAME.csv: x, then for each panel and side its curve and the low and high end of a band (empty: none).
# Variables: panels (titles), sides (names), floors (least value of an observable that is never negative),
# lows and highs (ranges of y), bases (what is subtracted: part of the title), rows_of_key, x_low, x_high,
# x_logarithmic, x_marks (where there are few values of x), x_label, marks (1: a point at each value), caption,
# caption_lines.
count = words(panels)
number = words(sides)
wide = 3*number
columns_of_panels = count > 1 ? 2 : 1
rows_of_panels = (count + columns_of_panels - 1)/columns_of_panels
foot = 0.2 + 0.1*int(caption_lines)
head = number > 1 ? 0.1 + 0.13*int(rows_of_key) : 0.06
height = foot + head + 0.38 + (count > 1 ? 1.3 : 1.7)*rows_of_panels
curve(c, s) = 2 + (c-1)*wide + 3*(s-1)
above(x, least) = x < least ? least : x
from = real(x_low)
to = real(x_high)
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set label 1 caption at screen 0.02, screen (foot-0.08)/height left noenhanced font ',5.5'
  set multiplot layout rows_of_panels,columns_of_panels margins 0.16,0.97,(foot+0.34)/height,1-(head+0.14)/height spacing 0.19,0.34/height
  if (x_logarithmic eq '1') { set logscale x; set format x '10^{%T}' }
  eval marks_of('x', from, to, x_logarithmic eq '1')
  set format y '%g'
  if (x_marks ne '') { eval 'set xtics ('.x_marks.')' }
  if (to > from) { set xrange [from:to] }
  do for [c=1:count] {
    base = real(word(bases, c))
    least = word(floors, c) eq '-' ? -1e300 : real(word(floors, c))
    low = real(word(lows, c)) - base
    high = real(word(highs, c)) - base
    set title word(panels, c)
    room = 0.04*(high - low)
    low = low - room < least - base ? (low < least - base ? least - base : low) : low - room
    high = high + room
    eval marks_of('y', low, high, 0)
    set yrange [low:high]
    if (c > count - columns_of_panels) { set xlabel x_label } else { set xlabel '' }
    if (c == 1 && number > 1) { set key at screen 0.5, screen 1-0.03/height center top vertical maxrows int(rows_of_key) reverse Left samplen 1.5 } else { unset key }
    # Wide lines first and dashes on top, so that curves that coincide are seen.
    plot for [s=1:number] name.'.csv' every ::1 using 1:(above(column(curve(c,s)+1), least)-base):(above(column(curve(c,s)+2), least)-base) with filledcurves linetype s fillstyle transparent solid 0.25 noborder notitle, \
         for [s=1:number] '' every ::1 using 1:(column(curve(c,s))-base) with linespoints linetype s dashtype 1+(s-1)%5 linewidth (s < number && s == 1 ? 1.8 : 1.2) pointtype (s == 1 ? 7 : 4+2*((s-2)%5)) pointsize (marks eq '1' ? (s == 1 ? 0.4 : 0.6) : 0) title word(sides, s)
    unset label 1
  }
  unset multiplot
  unset output
}
