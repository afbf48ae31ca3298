# A block a phi (linear, ReLU): K, then mean and half width of the 95 % interval of loss, error of
# Theorem 1 in the size of the logits, drift of the gradients, stable rank, rebound of the entropy.
height = 5.4
shift(k, x) = x*1.12**(k-0.5)
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.15,0.97,0.075,0.97 spacing 0,0.075
  set logscale x 2
  set xrange [0.7:400]
  set xtics (1, 4, 16, 64, 256)
  titles = '"(a) loss after 2000 steps (nats)" "(b) error of Theorem 1 in size of the logits" "(c) change of E[g φ'' x], share of the start" "(d) stable rank of V"'
  names = 'linear ReLU'
  do for [n = 1:4] {
    set title word(titles, n)
    set yrange [*:*]
    if (n == 2) { set yrange [0:10]; set ytics 2 }
    if (n == 3) { set yrange [0:1.2]; set ytics 0.4 }
    if (n == 4) { set yrange [0.9:1.6]; set ytics 0.2 }
    if (n == 4) { set xlabel 'hidden units K' } else { set xlabel '' }
    if (n == 1) { set key bottom left reverse Left samplen 1.5 } else { unset key }
    plot for [k = 0:1] name.'.csv' index k using (shift(k,$1)):(column(2*n)):(column(2*n+1)) with yerrorbars linetype k+1 pointtype 7 pointsize 0.4 title word(names, k+1), \
         for [k = 0:1] '' index k using (shift(k,$1)):(column(2*n)) with lines linetype k+1 notitle
  }
  unset logscale x
  unset multiplot
  unset output
}
