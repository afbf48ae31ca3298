# Index 0: t, entropy of the reduced flow. 1: the same by Euler steps of 0.02. 2: linear phi.
# 3: an instance that bounces twice. Extrema, 4: flow or euler, t, entropy; 5: of the instance of 3.
height = 3.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.11,0.97 spacing 0,0.13
  set ylabel 'attention entropy (nats)' offset 0.3+right,0
  set xlabel 'time t = learning rate × steps'
  set logscale x
  set xrange [0.1:100]
  eval y_range('0:2.6', '0:*')
  set ytics 0.5
  set format x '%g'
  set key on bottom left reverse Left
  set style line 9 pointtype 7 pointsize 0.7 linecolor rgb black
  plot data index 0 using 1:2 with lines linetype 1 title 'nonlinear φ, flow', \
       data index 1 using 1:2 with points pointtype 6 pointsize 0.6 linecolor rgb orange linewidth 0.7 title 'Euler, step 0.02', \
       data index 2 using 1:2 with lines linetype 3 dashtype 2 title 'linear φ', \
       data index 4 using (strcol(1) eq 'flow' ? $2 : NaN):3 with points linestyle 9 notitle, \
       data index 4 using (strcol(1) eq 'flow' ? $2 : NaN):3:(sprintf("minimum %.4f\nat t = %.2f", $3, $2)) with labels offset 3.5,-1 notitle
  set xrange [6:60]
  set xtics (6,10,20,30,60)
  set yrange [0.7535:0.7575]
  set ytics 0.001
  set format y '%.3f'
  set label 2 'two bounces: μ = 1.63, 1.77, … 4.25' at graph 0.98, graph 0.93 right
  unset key
  plot data index 3 using 1:2 with lines linetype 2, \
       data index 5 using 2:3 with points linestyle 9, \
       data index 5 using 2:($3 + ($0 == 1 ? 0.0002 : -0.0002)):(sprintf('%.6f', $3)) with labels
  set format y '%g'
  set xtics autofreq
  unset logscale x
  unset label
  unset multiplot
  unset output
}
