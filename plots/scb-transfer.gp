# Blocks of .csv, one a curve: T, critical B, its 95 % interval, correlation, name.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set format xy '10^{%T}'
  set xrange [50:3e8]
  eval y_range('1:1e10', '*:*')
  set xlabel 'context length T'
  set ylabel 'batch size for 75 % success' offset 0+right,0
  set key top left reverse Left
  plot data index 6 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'V and A together, no threshold', \
       data index 5 using 1:2:3:4 with yerrorlines linetype 4 pointtype 13 pointsize 0.6 title 'V and A together, threshold', \
       data index 4 using 1:2:3:4 with yerrorlines linetype 3 pointtype 9 pointsize 0.6 title 'V kept, threshold, l1 to 0.2', \
       data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.4 title 'V kept, threshold: ρ = 0.05, 0.2, 0.5, 0.9', \
       for [i=1:3] data index i using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.4 notitle, \
       data index 7 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'the same on sequences', \
       data index 8 using 1:2:3:4 with yerrorbars linetype 7 pointtype 1 pointsize 0.9 title '  and of another stationary law'
  unset output
}
