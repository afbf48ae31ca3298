# -entropy.csv, blocks Eqn 10, attended target, trained ReLU unit, trained GELU unit: t, entropy.
# -ratio.csv, block 0: mu, both laws; blocks tanh, ReLU, GELU: mu, measured ratio, its error.
height = 4.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.14,0.97,0.095,0.955 spacing 0,0.13
  set ylabel offset 0.4+right,0
  set title '(a) attention entropy, μ = 1.2, …, 3.8, τ = 3'
  set xlabel 'time t in units of 1/h'
  set ylabel 'entropy (nats)'
  set logscale x
  set format x '10^{%T}'
  set xrange [1e-2:20]
  set yrange [0.7:2.5]
  set ytics 0.5
  set key bottom left reverse Left
  plot name.'-entropy.csv' index 0 using 1:2 with lines linetype 2 title 'Eqn 10: a ∘ (μ − v)', \
       '' index 1 using 1:2 with lines linetype 1 title 'a ∘ (μ − a ∘ v)', \
       '' index 2 using 1:2 with lines linetype 3 dashtype 2 title 'trained unit, ReLU', \
       '' index 3 using 1:2 with lines linetype 5 dashtype 3 title 'trained unit, GELU'
  unset logscale x
  set format x '%g'
  set title '(b) order of learning, μ_k = 1, τ = 2'
  set xlabel 'μ_j of the salient token'
  set ylabel 'ln(1/δ_j) / ln(1/δ_k), late'
  set logscale y
  set xrange [1:3.05]
  set yrange [0.9:60]
  set ytics (1,2,5,10,20,50)
  set key top left reverse Left
  plot name.'-ratio.csv' index 0 using 1:2 with lines linetype 2 title 'Eqn 10: exp((μ_j^2 − μ_k^2)/τ)', \
       '' index 0 using 1:3 with lines linetype 1 title 'μ_j^2(1 + 1/W_j) / (μ_k^2(1 + 1/W_k))', \
       '' index 1 using 1:2 with points pointtype 1 pointsize 2 linecolor rgb green title 'trained unit, tanh', \
       '' index 2 using 1:2 with points pointtype 6 pointsize 0.9 linecolor rgb black title 'trained unit, ReLU', \
       '' index 3 using 1:2 with points pointtype 2 pointsize 0.7 linecolor rgb orange title 'trained unit, GELU'
  unset logscale y
  set ytics autofreq
  unset multiplot
  unset output
}
