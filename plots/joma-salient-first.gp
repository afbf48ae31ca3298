# Blocks, one a slower component mu_k: ln(1/delta_j) of the salient mu_j = 2.5, measured ratio of
# the logs, predicted limit, prediction with the first correction; mu_k last.
height = 2.5
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.85
  set tmargin at screen 0.97
  set bmargin at screen 0.145
  set logscale xy
  set xrange [0.3:200]
  set yrange [0.9:20]
  set ytics (1,2,5,10,20)
  set xlabel 'ln(1/δ_j) of the salient component, μ_j = 2.5'
  set ylabel 'ln(1/δ_j) / ln(1/δ_k)'
  set key at graph 0.98,0.22 right
  plot for [b=0:2] data index b using 1:2 with lines linetype b+1 notitle, \
       for [b=0:2] data index b using 1:($1 > 6 ? $4 : NaN) with lines linecolor rgb black linewidth 0.8 dashtype 3 notitle, \
       for [b=0:2] data index b using 1:3 with lines linecolor rgb grey linewidth 0.8 dashtype 2 notitle, \
       for [b=0:2] data index b every ::3::3 using (200):3:(sprintf('μ_k = %.1f', $5)) with labels left offset 0.4,0 notitle, \
       NaN with lines linetype 7 title 'flow', \
       NaN with lines linecolor rgb black linewidth 0.8 dashtype 3 title 'limit with first correction', \
       NaN with lines linecolor rgb grey linewidth 0.8 dashtype 2 title 'limit exp((μ_j^2 − μ_k^2)/τ)'
  unset output
}
