# Blocks of .csv, projected gradients and not: N, 1 if projected, squared distance of V, of A, |w|^2.
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
  set xrange [2.4:400]
  set yrange [1e-8:3]
  set xtics (3, 10, 30, 100, 300)
  set xlabel 'tokens N'
  set ylabel 'squared distance of the runs' offset 0+right,0
  set key top right
  plot data index 0 every ::1 using 1:3 with points linetype 1 pointtype 7 pointsize 0.6 title 'of V, projected gradients', \
       data index 1 using 1:3 with points linetype 3 pointtype 9 pointsize 0.7 title 'of V, not projected', \
       data index 1 using 1:4 with points linetype 4 pointtype 13 pointsize 0.7 title 'of A, not projected', \
       0.08/x with lines linetype 7 dashtype 2 linewidth 0.6 title '1/N'
  unset output
}
