# NAME.csv: t, then for each observable what is expected, half the band, and for each recorded run its
# values and deviations; the mean of several runs comes last. Variables: panels (titles), departures,
# floors (least value of an observable that is never negative), runs, mean (1: the last is one), expected,
# caption, caption_lines.
count = words(panels)
wide = 2 + 2*int(runs)
single = int(runs) - int(mean)
columns_of_panels = count > 1 ? 2 : 1
rows_of_panels = (count + columns_of_panels - 1)/columns_of_panels
foot = 0.05 + 0.1*int(caption_lines)
height = foot + 0.72 + 1.45*rows_of_panels
above(x, least) = x < least ? least : x
stats name.'.csv' every ::1 using 1 nooutput
# The legend stands above the first two panels, each with its part.
entry(c, part, text) = c == part || (c == 1 && count == 1) ? text : ''
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set label 1 caption at screen 0.02, screen (foot-0.04)/height left noenhanced font ',5.5'
  set multiplot layout rows_of_panels,columns_of_panels margins 0.11,0.97,(foot+0.34)/height,1-0.56/height spacing 0.13,0.32/height
  eval marks_of('x', STATS_min, STATS_max, 0)
  do for [c=1:count] {
    first_column = 2 + (c-1)*wide
    least = word(floors, c) eq '-' ? -1e300 : real(word(floors, c))
    unset arrow
    set title word(panels, c)
    departure = word(departures, c)
    if (departure ne '-') {
      set arrow 1 from real(departure), graph 0 to real(departure), graph 1 nohead linecolor rgb red dashtype 2
    }
    if (c > count - columns_of_panels) { set xlabel 't' } else { set xlabel '' }
    if (c <= 2) { set key at graph 0.5, screen 1-0.03/height center top vertical maxrows 3 reverse Left samplen 1.5 } else { unset key }
    plot name.'.csv' every ::1 using 1:(above(column(first_column)-column(first_column+1), least)):(column(first_column)+column(first_column+1)) with filledcurves linecolor rgb sky fillstyle transparent solid 0.4 title entry(c, 1, 'band'), \
         '' every ::1 using 1:first_column with lines linetype 1 title entry(c, 1, expected.', expected'), \
         for [r=single:int(runs)-1] '' every ::1 using 1:(column(first_column+2+2*r)) with lines linecolor rgb orange linewidth 2.4 title entry(c, 2, 'mean of recorded'), \
         for [r=0:single-1] '' every ::1 using 1:(column(first_column+2+2*r)) with lines linecolor rgb black linewidth 0.6 title entry(c, 1, r == 0 ? 'recorded' : ''), \
         1/0 with lines linecolor rgb red dashtype 2 title entry(c, 2, 'first outside')
    unset label 1
  }
  unset multiplot
  unset output
}
