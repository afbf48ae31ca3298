# A block a kind of run: step, median, least and largest over starts: W_1 of two layers, then V for the
# Gaussian law and for the uniform one. -shares.csv: a row a kind; starts in which the rank falls, and in
# which it falls and rises again, with 95 % intervals.
height = 5.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.13,0.96,0.08,0.96 spacing 0,0.12
  set xlabel 'step'
  set ylabel 'stable rank' offset 0.4+right,0
  set logscale x
  set format x '10^{%T}'
  set yrange [0:*]
  set title '(a) W_1 of networks of two layers, ReLU: median and range of 6'
  set xrange [1:1000]
  set key bottom left reverse Left samplen 2
  plot for [k = 0:1] name.'.csv' index k using 1:3:4 with filledcurves linetype k+1 fillstyle transparent solid 0.15 notitle, \
       for [k = 0:1] '' index k using 1:2 with lines linetype k+1 title sprintf('layer %d', k)
  set title '(b) V of one layer, softmax attention, 16 tanh units'
  set xrange [1:10000]
  set key bottom left reverse Left samplen 2
  names = '"Gaussian law" "uniform law"'
  plot for [k = 2:3] name.'.csv' index k using 1:3:4 with filledcurves linetype k-1 fillstyle transparent solid 0.15 notitle, \
       for [k = 2:3] '' index k using 1:2 with lines linetype k-1 title word(names, k-1)
  unset logscale x
  set format x '%g'
  unset multiplot
  unset output
}
