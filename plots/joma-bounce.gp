# Blocks, exp then softmax attention, in each linear, ReLU, GELU, tanh: units, share, its interval.
height = 2.6
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,2 margins 0.12,0.97,0.14,0.93 spacing 0.1,0
  set logscale x
  set xrange [0.7:120]
  set xtics (1,4,16,64)
  set yrange [-0.03:1.03]
  set xlabel 'hidden units K'
  set ylabel 'share of 100 data laws' offset 0.4+right,0
  set key top left reverse Left
  do for [a=0:1] {
    set title word('exp softmax', a + 1).' attention'
    plot for [b=0:3] data index (4*a + b) using ($1*1.12**(b - 1.5)):2:3:4 with yerrorbars \
           linetype b+1 pointtype 7 pointsize 0.5 notitle, \
         for [b=0:3] data index (4*a + b) using ($1*1.12**(b - 1.5)):2 with lines linetype b+1 \
           title (a == 0 ? word('linear ReLU GELU tanh', b + 1) : '')
    set ylabel ''
    unset key
  }
  unset multiplot
  unset output
}
