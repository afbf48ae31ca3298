# Blocks of .csv, M = 1000, 1e4, 1e5: eta_Z/eta_Y, distances flow - quasi-static, quasi-static -
# fast-decoder, fast-decoder - reduced (relative, of z at t = 700), |z_reduced|/|z_flow|, M.
height = 2.6
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set xrange [1e-4:1]
  set yrange [1e-4:5]
  set format xy '10^{%T}'
  set xlabel 'η_Z / η_Y'
  set ylabel 'relative distance of z' offset 0+right,0
  set key bottom right samplen 2
  plot name.'.csv' index 0 every ::1 using 1:3 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'quasi-static – fast-decoder', \
       name.'.csv' index 0 every ::1 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'flow – quasi-static', \
       name.'.csv' index 0 every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'fast-decoder – reduced', \
       name.'.csv' index 2 using 1:2 with lines linetype 1 dashtype 2 title 'M = 100 000', \
       name.'.csv' index 2 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       name.'.csv' index 2 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       x with lines linetype 7 dashtype 3 linewidth 0.6 title 'order 1'
  unset output
}
