# Blocks of .csv: plain, l1, l1 without noise: step, normalised distances to P and Q, loss.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.95 spacing 0,0.045
  eval x_range('0:14000', '0:*')
  set format x ''
  if (own eq '0') { set xtics 4000 }
  set key at screen 0.56, screen 0.995 center top horizontal maxcols 3 samplen 1.5 width -1
  set ylabel '‖V − P‖_μ, normalised' offset 0+right,0
  set logscale y
  set format y '10^{%T}'
  eval y_range('0.001:0.5', '*:*')
  plot data index 0 using 1:2 with lines linetype 2 title 'plain', \
       data index 1 using 1:2 with lines linetype 1 title 'threshold and l1', \
       data index 2 using 1:2 with lines linetype 1 dashtype 2 title 'the same, no noise'
  set ylabel '‖A − Q‖_μ, normalised' offset 0+right,0
  eval y_range('0.005:2', '*:*')
  plot data index 0 using 1:3 with lines linetype 2 notitle, \
       data index 1 using 1:3 with lines linetype 1 notitle, \
       data index 2 using 1:3 with lines linetype 1 dashtype 2 notitle
  unset logscale y
  set format y '%g'
  set format x (own eq '0' ? '%g' : '%.0s%c')
  set xlabel 'step'
  set ylabel 'loss' offset 0+right,0
  set autoscale y
  plot data index 0 using 1:4 with lines linetype 2 notitle, \
       data index 1 using 1:4 with lines linetype 1 notitle, \
       data index 2 using 1:4 with lines linetype 1 dashtype 2 notitle
  unset multiplot
  unset output
}
