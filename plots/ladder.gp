# NAME.csv: number of the step, its rungs, then for each observable the relative distance of the two.
# Variables: observables, steps, caption, caption_lines.
count = words(observables)
rows = int(steps)
lines_of_key = int((count + 1)/2)
foot = 0.05 + 0.1*int(caption_lines)
below = foot + 0.5 + 0.125*lines_of_key
height = below + 0.34*rows + 0.1
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set label 1 caption at screen 0.02, screen (foot-0.04)/height left noenhanced font ',5.5'
  set lmargin at screen 0.47
  set rmargin at screen 0.95
  set bmargin at screen below/height
  set tmargin at screen (height-0.06)/height
  set logscale x
  set xrange [1e-16<*:*]
  set format x '10^{%T}'
  set xtics 1000
  set xlabel 'relative distance'
  set yrange [rows-0.5:-0.5]
  set grid ytics linecolor rgb '#dddddd' linewidth 0.5
  set ytics noenhanced
  set key at screen 0.97, screen (below-0.36)/height top right maxrows lines_of_key font ',6' spacing 0.95*line samplen 1 width -1
  # The first plot only names the rows, the next ones make room at the left for the marks of the least.
  plot name.'.csv' every ::1 using (1):1:ytic(2) with points pointsize 0 notitle, \
       for [c=1:count] '' every ::1 using (column(2+c)/3):1 with points pointtype -1 notitle, \
       for [c=1:count] name.'.csv' every ::1 using (column(2+c)):($1+(c-0.5*(count+1))*0.7/count) with points linetype c pointtype (5+2*((c-1)%5)) pointsize 0.6 title word(observables, c)
  unset output
}
