# Blocks of .csv: constant noise, multiplicative noise, transfer, SGD on sequences: T, critical B, its
# 95 % interval.
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
  set xrange [50:2e9]
  eval y_range('3:1e18', '*:*')
  set ytics 1000
  set xlabel 'context length T'
  set ylabel 'batch size for 75 % success' offset 0+right,0
  set key top left reverse Left
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'from scratch, constant noise', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'from scratch, multiplicative noise', \
       data index 2 using 1:2:3:4 with yerrorlines linetype 3 pointtype 9 pointsize 0.5 title 'from transfer, multiplicative noise', \
       data index 3 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'from scratch, SGD on sequences', \
       0.01*x**2 with lines linetype 7 dashtype 3 linewidth 0.6 title 'T^2', \
       0.01*x with lines linetype 7 dashtype 2 linewidth 0.6 title 'T'
  unset output
}
