# Blocks of .csv: plain, l1, l1 without noise: step, normalised distances to P and Q, loss.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.98 spacing 0,0.045
  set xrange [0:14000]
  set format x ''
  set xtics 4000
  set key at graph 0.02,0.55 left Left reverse
  set ylabel '‖V − P‖_μ, normalised' offset 0+right,0
  set logscale y
  set format y '10^{%T}'
  set yrange [0.001:0.5]
  plot data index 0 using 1:2 with lines linetype 2 title 'plain', \
       data index 1 using 1:2 with lines linetype 1 title 'threshold and l1', \
       data index 2 using 1:2 with lines linetype 1 dashtype 2 title 'the same, no noise'
  set ylabel '‖A − Q‖_μ, normalised' offset 0+right,0
  set yrange [0.005:2]
  plot data index 0 using 1:3 with lines linetype 2 notitle, \
       data index 1 using 1:3 with lines linetype 1 notitle, \
       data index 2 using 1:3 with lines linetype 1 dashtype 2 notitle
  unset logscale y
  set format y '%g'
  set format x '%g'
  set xlabel 'step'
  set ylabel 'loss' offset 0+right,0
  set autoscale y
  plot data index 0 using 1:4 with lines linetype 2 notitle, \
       data index 1 using 1:4 with lines linetype 1 notitle, \
       data index 2 using 1:4 with lines linetype 1 dashtype 2 notitle
  unset multiplot
  unset output
}
