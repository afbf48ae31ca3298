# Blocks of .csv: linear, softmax: T, sequences needed (median), quartiles (the upper one where runs
# were cut, if more than a quarter of them were), best B, eta and eta_A.
height = 2.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.14
  set tmargin at screen 0.97
  set logscale xy
  set format y '10^{%T}'
  set xrange [8:400]
  set xtics (10, 20, 40, 80, 160, 320)
  set xlabel 'context length T'
  set ylabel 'sequences until α_A = 0.4' offset 0+right,0
  set key top left
  plot data index 0 every ::1 using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'linear attention', \
       data index 1 using 1:2:3:4 with yerrorlines linetype 2 pointtype 5 pointsize 0.5 title 'softmax attention', \
       20*x with lines linetype 7 dashtype 2 linewidth 0.6 title 'T'
  unset output
}
