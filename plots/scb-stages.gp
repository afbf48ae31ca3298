# Blocks of .csv, against T, N, Q, eps: x, then of stage 1 and of stage 2 the sequences needed and
# their 95 % interval.
height = 3.4
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  set logscale xy
  set format y '10^{%T}'
  do for [i=0:3] {
    set lmargin at screen (i % 2 == 0 ? 0.15 : 0.64)
    set rmargin at screen (i % 2 == 0 ? 0.50 : 0.985)
    set bmargin at screen (i < 2 ? 0.61 : 0.12)
    set tmargin at screen (i < 2 ? 0.98 : 0.49)
    set yrange [1e3:1e11]
    set ytics 100
    unset ylabel
    if (i % 2 == 0) { set ylabel 'sequences' offset 0+right,0 }
    set xlabel word('T N Q eps', i + 1)
    if (i == 3) { set xlabel 'ε' }
    unset xtics
    if (i == 0) { set xtics 100; set format x '10^{%T}'; set xrange [50:2e8]; set key top left reverse Left }
    if (i == 1) { set xtics (3, 6, 12, 24); set format x '%g'; set xrange [2.4:30]; unset key }
    if (i == 2) { set xtics (2, 3, 4, 6); set xrange [1.7:7] }
    if (i == 3) { set xtics (0.05, 0.1, 0.2); set xrange [0.04:0.25] }
    set xtics offset 0,0.3+tight
    style = i == 0 || i == 3 ? 'yerrorlines' : 'yerrorbars'
    if (i == 0 || i == 3) {
      plot data index i every ::(i == 0 ? 1 : 0) using 1:2:3:4 with yerrorlines linetype 1 pointtype 7 pointsize 0.5 title 'stage 1', \
           data index i every ::(i == 0 ? 1 : 0) using 1:5:6:7 with yerrorlines linetype 3 pointtype 9 pointsize 0.6 title 'stage 2'
    } else {
      plot data index i using 1:2:3:4 with yerrorbars linetype 1 pointtype 7 pointsize 0.5 title 'stage 1', \
           data index i using 1:5:6:7 with yerrorbars linetype 3 pointtype 9 pointsize 0.6 title 'stage 2'
    }
  }
  unset multiplot
  unset output
}
