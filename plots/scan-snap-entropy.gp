# Blocks of .csv: n_last in (1,3,5,10), within it eta_Z in (0.5,1,2,3): n_last, eta_Z, ratio, mean over
# seeds, standard deviation, momentum descent on the expectation.
height = 3.7
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,2 margins 0.14,0.975,0.1,0.95 spacing 0.1,0.13
  set xrange [0.5:10.5]
  set xtics (1,2,4,6,8,10)
  set yrange [1.45:2.15]
  set ytics 0.1
  do for [p=0:3] {
    set title sprintf('%s quer%s, %d classes', word('1 3 5 10', p+1), (p == 0 ? 'y' : 'ies'), 2*real(word('1 3 5 10', p+1)))
    set xlabel (p > 1 ? 'η_Y / η_Z' : '')
    set ylabel (p % 2 == 0 ? 'distinct entropy (nats)' : '') offset 0.8+right,0
    if (p == 3) { set key bottom right samplen 1.2 } else { unset key }
    plot for [e=0:3] data index 4*p+e using ($3+0.1*(e-1.5)):4:5 with yerrorlines linetype e+1 \
           pointtype 7 pointsize 0.35 title 'η_Z = '.word('0.5 1 2 3', e+1), \
         for [e=0:3] data index 4*p+e using 3:6 with lines linetype e+1 dashtype 2 notitle
  }
  unset multiplot
  unset output
}
