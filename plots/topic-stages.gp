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
  eval y_range('0:15', '0:*')
  plot data index 0 every ::1 using 1:3 with lines linetype 1 title 'W_V', \
       data index 0 every ::1 using 1:4 with lines linetype 2 title 'W_K', \
       data index 0 every ::1 using 1:5 with lines linetype 3 dashtype 2 title 'W_Q', \
       data index 1 every 4 using 1:3 with points linetype 1 pointtype 6 pointsize 0.45 notitle, \
       data index 1 every 4 using 1:4 with points linetype 2 pointtype 6 pointsize 0.45 notitle, \
       data index 1 every 4::2 using 1:5 with points linetype 3 pointtype 4 pointsize 0.45 notitle, \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'flow', \
       1/0 with points linecolor rgb grey pointtype 6 pointsize 0.45 title 'one run of SGD'
  set format x '10^{%T}'
  set xlabel 't'
  set ylabel 'loss' offset 0+right,0
  eval y_range('0.76:1.01', '*:*')
  set key top right
  plot data index 0 every ::1 using 1:2 with lines linetype 7 title 'flow', \
       data index 1 every 4 using 1:2 with points linetype 7 pointtype 6 pointsize 0.45 title 'one run of SGD'
  unset multiplot
  unset output
}
