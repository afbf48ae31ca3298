# Blocks of .csv: n_last in (1,3,5,10), within it eta_Z in (0.5,1,2,3): n_last, eta_Z, ratio, mean over
# seeds, standard deviation, momentum descent on the expectation.
# -trends.csv: n_last, eta_Z from, to, ratio from, to, change of entropy, its half width (95 % for all
# together), share of seeds in which it rises, sign claimed, verdict.
# Blocks of -shares.csv: n_last, within it eta_Z, within it ratio in (1,2,5,10): n_last, eta_Z, ratio,
# threshold, share of distinct tokens above it, half width (95 % for a curve).
height = 5.4
data = name.'.csv'
shares = name.'-shares.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,2 margins 0.14,0.975,0.07,0.965 spacing 0.1,0.1
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
  set xrange [0:0.52]
  set xtics 0.1
  set yrange [0:1]
  set ytics 0.2
  set xlabel 'threshold'
  set key top right samplen 1.2
  set title '5 queries, η_Y / η_Z = 2'
  set ylabel 'share of tokens above' offset 0.8+right,0
  plot for [e=0:3] shares index 32+4*e+1 using 4:5:6 with yerrorlines linetype e+1 \
         pointtype 7 pointsize 0.35 title 'η_Z = '.word('0.5 1 2 3', e+1)
  set title '5 queries, η_Z = 1'
  set ylabel ''
  plot for [r=0:3] shares index 32+4+r using 4:5:6 with yerrorlines linetype r+1 \
         pointtype 7 pointsize 0.35 title 'η_Y / η_Z = '.word('1 2 5 10', r+1)
  unset multiplot
  unset output
}
