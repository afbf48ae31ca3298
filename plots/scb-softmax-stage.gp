# Blocks of .csv: softmax, l1, plain: T, sequences needed and their 95 % interval.
height = 2.5
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.15
  set tmargin at screen 0.97
  set logscale xy
  set format y '10^{%T}'
  set xrange [22:1400]
  set xtics (30, 100, 300, 1000)
  set xlabel 'context length T'
  set ylabel 'sequences for 75 % success' offset 0+right,0
  set key top left reverse Left
  plot data index 2 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'linear, plain steps', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 3 pointtype 9 pointsize 0.6 title 'linear, l1 steps', \
       data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'softmax'
  unset output
}
