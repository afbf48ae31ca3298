# Blocks of units, share, its interval: 2000 steps, then 20000; exp, then softmax attention; linear,
# ReLU, GELU, tanh. A rebound counts if it is above 0.1 nats with steps of 0.1 and of 0.025.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,2 margins 0.13,0.97,0.09,0.95 spacing 0.1,0.12
  set logscale x
  set xrange [0.6:110]
  set xtics (1,4,16,64)
  do for [n=0:1] {
    top = (n == 0 ? 0.1 : 1.0)
    set yrange [-0.03*top:1.03*top]
    do for [a=0:1] {
      set title sprintf('%s, %s steps', word('exp softmax', a + 1), word('2000 20000', n + 1))
      set xlabel (n == 1 ? 'hidden units K' : '')
      set ylabel (a == 0 ? sprintf('share of %s data laws', word('200 20', n + 1)) : '') offset 0.4+right+(n == 0 ? 1.4 : 0),0
      set key top left reverse Left
      if (n + a > 0) { unset key }
      plot for [b=0:3] data index (8*n + 4*a + b) using ($1*1.12**(b - 1.5)):2:3:4 with yerrorbars \
             linetype b+1 pointtype 7 pointsize 0.5 notitle, \
           for [b=0:3] data index (8*n + 4*a + b) using ($1*1.12**(b - 1.5)):2 with lines \
             linetype b+1 title word('linear ReLU GELU tanh', b + 1)
    }
  }
  unset multiplot
  unset output
}
