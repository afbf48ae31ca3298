# Blocks of .csv: two instances on the lumped law, then one on sequences: Q, critical B, its 95 %
# interval, steps of boosting without noise, K_Q.
height = 3.4
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.11,0.98 spacing 0,0.06
  set logscale xy
  set xrange [0.8:80]
  set xtics (1, 2, 4, 8, 16, 32, 64)
  set format x ''
  set key top left
  set ylabel 'batch for 75 % success' offset 0+right,0
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'multiplicative noise, two instances', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 notitle, \
       data index 2 using 1:2:3:4 with yerrorbars linetype 7 pointtype 6 pointsize 0.9 title 'SGD on sequences'
  set format x '%g'
  set xlabel 'positions a token looks at, Q'
  set ylabel 'steps of boosting' offset 0+right,0
  plot for [i=0:1] data index i every ::(i==0) using 1:5 with linespoints linetype 1 pointtype 7 pointsize 0.5 notitle, \
       data index 0 every ::1 using 1:(column(5) > 0 ? 900*sqrt(1/column(6)) : NaN) with lines linetype 7 dashtype 2 linewidth 0.6 title 'K_Q^{−1/2}'
  unset multiplot
  unset output
}
