# Blocks of .csv, N = 3, 5, 10, 20 (sequences), 100, 500 (noise): K_P t, normalised distances to P
# and Q, N.
height = 3.6
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.10,0.98 spacing 0,0.05
  set logscale y
  set format y '10^{%T}'
  set xrange [0:8]
  set format x ''
  set key top right maxrows 3 samplen 1.5
  set yrange [0.0005:3]
  set ylabel '‖V − P‖_μ, normalised' offset 0+right,0
  plot for [i=0:3] data index i every ::(i==0) using 1:2 with lines linetype i+1 title sprintf('N = %s', word('3 5 10 20', i+1)), \
       data index 4 using 1:2 with lines linetype 5 dashtype 2 title 'N = 100, noise', \
       data index 5 using 1:2 with lines linetype 7 dashtype 2 title 'N = 500, noise'
  set format x '%g'
  set yrange [0.01:3]
  set xlabel 'K_P t'
  set ylabel '‖A − Q‖_μ, normalised' offset 0+right,0
  plot for [i=0:3] data index i every ::(i==0) using 1:3 with lines linetype i+1 notitle, \
       data index 4 using 1:3 with lines linetype 5 dashtype 2 notitle, \
       data index 5 using 1:3 with lines linetype 7 dashtype 2 notitle
  unset multiplot
  unset output
}
