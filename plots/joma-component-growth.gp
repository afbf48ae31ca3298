# Columns of index 0: t, v_0 ... v_4. Index 1: delta, predicted end (empty for the one that blows
# up), predicted and located blow-up time.
height = 2.3
data = name.'.csv'
stats data index 1 using 3 every ::0::0 nooutput
t_star = STATS_max
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.11
  set rmargin at screen 0.83
  set tmargin at screen 0.96
  set bmargin at screen 0.15
  set xlabel 'time t = learning rate × steps'
  set ylabel 'component v_l'
  set xrange [0:t_star*1.04]
  set yrange [-1.1:4]
  unset key
  set arrow 1 from t_star, graph 0 to t_star, graph 1 nohead linecolor rgb grey linewidth 0.7 dashtype 2
  set label 1 't* = √(π/2) / max|Δ|' at t_star, graph 0.97 right offset -0.6,0 textcolor rgb grey
  set xzeroaxis linecolor rgb grey linewidth 0.4
  plot for [c=2:6] data index 0 using 1:c with lines linetype c-1, \
       data index 1 using (0.55*t_star):2:(0.49*t_star):(0) with vectors nohead linecolor rgb grey linewidth 0.7 dashtype 2, \
       data index 1 using (t_star*1.04):2:(sprintf('Δ = %.1f', $1)) with labels left offset 0.6,0, \
       data index 1 every ::0::0 using (t_star*1.04):(3.8):(sprintf('Δ = %.1f', $1)) with labels left offset 0.6,0
  unset output
}
