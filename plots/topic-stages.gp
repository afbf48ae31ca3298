# Blocks of .csv: flow, one run of SGD: t, loss, norms of W_V, W_K, W_Q, attention by kind.
height = 3.6
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.96,0.10,0.98 spacing 0,0.05
  set logscale x
  set xrange [1:3e5]
  set format x ''
  set key top left
  set ylabel 'Frobenius norm' offset 0+right,0
  set yrange [0:15]
  plot data index 0 every ::1 using 1:3 with lines linetype 1 title 'W_V', \
       data index 0 every ::1 using 1:4 with lines linetype 2 title 'W_K', \
       data index 0 every ::1 using 1:5 with lines linetype 3 dashtype 2 title 'W_Q', \
       data index 1 using 1:3 with lines linetype 1 linewidth 0.6 dashtype 3 title 'the same by SGD', \
       data index 1 using 1:4 with lines linetype 2 linewidth 0.6 dashtype 3 notitle, \
       data index 1 using 1:5 with lines linetype 3 linewidth 0.6 dashtype 3 notitle
  set format x '10^{%T}'
  set xlabel 't'
  set ylabel 'loss' offset 0+right,0
  set yrange [0.76:1.01]
  set key top right
  plot data index 0 every ::1 using 1:2 with lines linetype 7 title 'flow', \
       data index 1 using 1:2 with lines linetype 7 linewidth 0.6 dashtype 3 title 'SGD'
  unset multiplot
  unset output
}
