# Blocks of .csv, T/tau = 4, 64, 4096: tau, best attention over tau v (block-wise, diagonal), beta* of
# diagonal W_V.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale x
  set format x '10^{%T}'
  set xrange [1.5:2e4]
  eval y_range('0:9', '0:*')
  set xlabel 'topics of a document, τ'
  set ylabel 'best attention over τ v' offset 0+right,0
  set key at graph 0.98,0.7
  limit = 1/((1 - p_c)*p_m)
  plot limit with lines linetype 7 dashtype 2 linewidth 0.6 title 'limit 1/((1 − p_c) p_m)', \
       data index 2 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.4 title 'T = 4096 τ, block-wise', \
       data index 2 using 1:3 with linespoints linetype 1 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal', \
       data index 1 using 1:2 with linespoints linetype 2 pointtype 7 pointsize 0.4 title 'T = 64 τ, block-wise', \
       data index 1 using 1:3 with linespoints linetype 2 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal', \
       data index 0 every ::1 using 1:2 with linespoints linetype 3 pointtype 7 pointsize 0.4 title 'T = 4 τ, block-wise', \
       data index 0 every ::1 using 1:3 with linespoints linetype 3 dashtype 2 pointtype 6 pointsize 0.6 title 'diagonal'
  unset output
}
