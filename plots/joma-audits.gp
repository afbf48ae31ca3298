# Solid: Gaussian X, dashed: uniform X in (a) and (b); medians over starts in (c).
# -stationarity.csv (exp attention), a block a law: t, drift of E[g x], relative errors of z and v against flow.
# -softmax.csv, a block a law: t, NC, relative error of the invariant, variation of b_bar, defect.
# -embeddings.csv, a block a dimension: step, relative error of the exp invariant, dimension.
# -attention.csv, blocks reduced exp, reduced softmax, stationary exp, stationary softmax:
#   t, entropy.
height = 3.7
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,2 margins 0.125,0.965,0.085,0.955 spacing 0.145,0.125
  set key samplen 1.3 spacing 1.1*line
  set ylabel offset 0.4+right,0

  set title '(a) stationarity assumed'
  set xlabel 'time t'
  set ylabel 'relative change, error'
  set logscale y
  set format y '10^{%T}'
  set xrange [0:200]
  set yrange [1e-3:2e3]
  set key top left reverse Left
  plot name.'-stationarity.csv' index 0 using 1:2 with lines linetype 1 title 'drift of E[g x]', \
       '' index 0 using 1:3 with lines linetype 2 title 'error in z', \
       '' index 0 using 1:4 with lines linetype 3 title 'error in v', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'Gaussian X', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 2 title 'uniform X', \
       '' index 1 using 1:2 with lines linetype 1 dashtype 2 notitle, \
       '' index 1 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       '' index 1 using 1:4 with lines linetype 3 dashtype 2 notitle

  set title '(b) softmax invariant'
  set ylabel ''
  set yrange [3e-4:3e4]
  set key top left reverse Left
  plot name.'-softmax.csv' index 0 using 1:3 with lines linetype 2 title '|ẑ − z| / |z|', \
       '' index 0 using 1:(1-$2) with lines linetype 1 title '1 − NC(z, ẑ)', \
       '' index 0 using 1:5 with lines linetype 4 title 'factorisation defect', \
       '' index 1 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       '' index 1 using 1:(1-$2) with lines linetype 1 dashtype 2 notitle, \
       '' index 0 using 1:4 with lines linetype 3 title 'change of b̄', \
       '' index 1 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       '' index 1 using 1:5 with lines linetype 4 dashtype 2 notitle
  unset logscale y
  set format y '%g'

  set title '(c) embeddings not orthogonal'
  set xlabel 'step (η = 0.1)'
  set ylabel 'error of the exp invariant'
  set xrange [0:500]
  set yrange [0:1.4]
  set key top left reverse Left
  plot for [b=0:3] name.'-embeddings.csv' index b using 1:2 with lines linetype (b == 0 ? 7 : b) \
       title word('orthonormal d=255 d=64 d=22', b+1)

  set title '(d) exp or softmax attention'
  set xlabel 'time t'
  set ylabel 'entropy (nats)'
  set logscale x
  set xrange [0.01:300]
  set yrange [0:2.6]
  set key bottom left reverse Left spacing 0.85*line font ',6'
  set xtics (0.01,0.1,1,10,100)
  plot name.'-attention.csv' index 2 using 1:2 with lines linetype 2 linewidth 3 title 'stationary, exp', \
       '' index 0 using 1:2 with lines linetype 1 title 'reduced, exp', \
       '' index 3 using 1:2 with lines linetype 2 dashtype 2 title 'stat., softmax', \
       '' index 1 using 1:2 with lines linetype 1 dashtype 2 title 'red., softmax'
  set xtics autofreq
  set key font ',7'
  unset logscale x
  unset multiplot
  unset output
}
