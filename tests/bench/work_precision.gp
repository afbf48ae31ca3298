# name-FLOW.csv: a block a method: digits right, seconds. After plots/style.gp.
height = 4.6
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.97,0.085,0.96 spacing 0,0.125
  set ylabel offset 0.4+right,0
  set logscale y
  set format y '10^{%T}'
  set xlabel 'digits right at the end, −log_{10} of the largest relative error'
  set ylabel 'seconds, one thread'
  set title '(a) reduced JoMA flow, 20 weights, rates 1.4 to 207'
  set xrange [2.5:52]
  set yrange [2e-5:3]
  set key bottom right Left reverse
  file = name.'-reduced.csv'
  plot file index 0 with linespoints linetype 1 pointtype 7 pointsize 0.4 title 'dopri5', \
       '' index 1 with linespoints linetype 2 pointtype 5 pointsize 0.4 title 'Bulirsch-Stoer', \
       '' index 2 with linespoints linetype 3 pointtype 9 pointsize 0.4 title 'rosenbrock4', \
       '' index 3 with linespoints linetype 7 pointtype 11 pointsize 0.4 title 'extrapolation, many digits', \
       '' index 4 with linespoints linetype 4 dashtype 2 pointtype 6 pointsize 0.4 title 'CVODE Adams', \
       '' index 5 with linespoints linetype 5 dashtype 2 pointtype 4 pointsize 0.4 title 'CVODE BDF', \
       '' index 6 with linespoints linetype 6 dashtype 2 pointtype 8 pointsize 0.4 title 'SciPy DOP853', \
       '' index 7 with linespoints linetype 8 linecolor rgb grey dashtype 2 pointtype 10 pointsize 0.4 title 'SciPy Radau'
  set title '(b) population flow of scan and snap, 11,892 numbers'
  set xrange [2:13]
  set yrange [3e-4:60]
  set key top left Left reverse
  file = name.'-growth.csv'
  plot file index 0 with linespoints linetype 1 pointtype 7 pointsize 0.4 title 'dopri5', \
       '' index 1 with linespoints linetype 2 pointtype 5 pointsize 0.4 title 'Bulirsch-Stoer', \
       '' index 2 with linespoints linetype 4 dashtype 2 pointtype 6 pointsize 0.4 title 'CVODE Adams', \
       '' index 3 with linespoints linetype 5 dashtype 2 pointtype 4 pointsize 0.4 title 'CVODE BDF', \
       '' index 4 with linespoints linetype 6 dashtype 2 pointtype 8 pointsize 0.4 title 'SciPy DOP853'
  unset multiplot
}
