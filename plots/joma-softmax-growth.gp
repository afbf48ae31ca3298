# -gaussian.csv, -uniform.csv, a block a component: step, v, by the law on its best clock, on that of
# exp attention. -misses.csv, a block a law: step, then median, least and largest miss on the best
# clock, on that of exp attention, of straight lines.
height = 6.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.13,0.96,0.07,0.97 spacing 0,0.085
  set xlabel 'step'
  set xrange [0:2000]
  set xtics 500
  set ylabel 'component of v_0' offset 0.4+right,0
  set xzeroaxis linecolor rgb grey linewidth 0.4
  do for [law = 0:1] {
    file = name.(law == 0 ? '-gaussian.csv' : '-uniform.csv')
    set title (law == 0 ? '(a) Gaussian law: tokens 0, 5, 10, 15' : '(b) uniform law: tokens 0, 5, 10, 15')
    stats file using 2 nooutput
    span = STATS_max - STATS_min
    set yrange [STATS_min-0.15*span:STATS_max+0.45*span]
    if (law == 0) { set key top left reverse Left samplen 2 maxrows 3 } else { unset key }
    plot for [i = 0:3] file index i using 1:2 with lines linetype i+1 notitle, \
         for [i = 0:3] '' index i using 1:3 with lines linetype i+1 dashtype 2 notitle, \
         for [i = 0:3] '' index i using 1:4 with lines linetype i+1 dashtype 3 linewidth 0.7 notitle, \
         NaN with lines linecolor rgb black title 'descent', \
         NaN with lines linecolor rgb black dashtype 2 title 'law, best clock', \
         NaN with lines linecolor rgb black dashtype 3 linewidth 0.7 title 'law, clock of exp attention'
  }
  unset xzeroaxis
  set title '(c) missed of the change of all v, 10 starts'
  set ylabel 'share missed' offset 0.4+right,0
  set logscale y
  set format y '10^{%T}'
  set yrange [1e-3:100]
  set key top left reverse Left samplen 2 maxrows 3 width -2
  set arrow 1 from 0, 0.1 to 2000, 0.1 nohead linecolor rgb grey linewidth 0.7 dashtype 2
  file = name.'-misses.csv'
  plot for [law = 0:1] file index law using 1:3:4 with filledcurves linetype 1+law fillstyle transparent solid 0.15 notitle, \
       for [law = 0:1] '' index law using 1:2 with lines linetype 1+law title (law == 0 ? 'Gaussian, best clock' : 'uniform, best clock'), \
       for [law = 0:1] '' index law using 1:5 with lines linetype 1+law dashtype 3 linewidth 0.8 title (law == 0 ? 'Gaussian, exp clock' : 'uniform, exp clock'), \
       for [law = 0:1] '' index law using 1:8 with lines linetype 1+law dashtype 2 linewidth 0.8 title (law == 0 ? 'Gaussian, straight' : 'uniform, straight')
  unset arrow 1
  unset logscale y
  set format y '%g'
  unset multiplot
  unset output
}
