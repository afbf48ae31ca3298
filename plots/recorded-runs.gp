# NAME.csv: t, then for each observable what is expected, half the band, and for each recorded run its
# values and deviations. Variables: panels, departures, runs, expected.
count = words(panels)
wide = 2 + 2*int(runs)
height = 0.5 + 1.55*count
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout count,1 margins 0.17,0.96,0.42/height,1-0.22/height spacing 0,0.3/height
  do for [c=1:count] {
    first_column = 2 + (c-1)*wide
    unset arrow
    unset label
    observable = word(panels, c)
    set title observable noenhanced
    departure = word(departures, c)
    if (departure ne '-') {
      set arrow 1 from real(departure), graph 0 to real(departure), graph 1 nohead linecolor rgb red dashtype 2
    }
    if (c == count) { set xlabel 't' }
    if (c == 1) { set key top right } else { set key off }
    plot name.'.csv' every ::1 using 1:(column(first_column)-column(first_column+1)):(column(first_column)+column(first_column+1)) with filledcurves linecolor rgb sky fillstyle transparent solid 0.4 title 'band', \
         name.'.csv' every ::1 using 1:first_column with lines linetype 1 title expected, \
         for [r=0:int(runs)-1] name.'.csv' every ::1 using 1:(column(first_column+2+2*r)) with lines linecolor rgb black linewidth 0.8 title (r == 0 ? 'recorded' : '')
  }
  unset multiplot
  unset output
}
