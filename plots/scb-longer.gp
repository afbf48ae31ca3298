# Blocks of .csv, lambda = 0, 0.001, 0.004: step, distances to P and Q, excess loss, both distances
# after normalisation, lambda.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.98 spacing 0,0.045
  set logscale xy
  set xrange [100:2e5]
  set format x ''
  set format y '10^{%T}'
  set key bottom left
  set ylabel '‖V − P‖_μ' offset 0+right,0
  eval y_range('3e-4:5', '*:*')
  plot data index 0 using 1:2 with lines linetype 3 title 'λ = 0', \
       data index 1 using 1:2 with lines linetype 1 title 'λ = 0.001', \
       data index 2 using 1:2 with lines linetype 2 title 'λ = 0.004', \
       data index 2 using 1:5 with lines linetype 2 dashtype 2 title 'normalised'
  set ylabel '‖A − Q‖_μ' offset 0+right,0
  eval y_range('3e-3:2', '*:*')
  plot data index 0 using 1:3 with lines linetype 3 notitle, \
       data index 1 using 1:3 with lines linetype 1 notitle, \
       data index 2 using 1:3 with lines linetype 2 notitle, \
       data index 2 using 1:6 with lines linetype 2 dashtype 2 notitle
  set ylabel 'excess loss' offset 0+right,0
  eval y_range('1e-7:1', '*:*')
  set format x '10^{%T}'
  set xlabel 'step'
  plot data index 0 using 1:4 with lines linetype 3 notitle, \
       data index 1 using 1:4 with lines linetype 1 notitle, \
       data index 2 using 1:4 with lines linetype 2 notitle
  unset multiplot
  unset output
}
