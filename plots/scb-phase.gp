# .csv: a block a run, the reduced flow first: alpha_V, alpha_A. -field.csv: directions.
height = 3
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.13
  set rmargin at screen 0.97
  set bmargin at screen 0.13
  set tmargin at screen 0.87
  set xrange [-2.5:2.5]
  set yrange [-1.3:1.3]
  set samples 1000
  set xlabel 'α_V'
  set ylabel 'α_A' offset 0.5+right,0
  set key at screen 0.55, screen 0.985 center top horizontal maxcols 2 samplen 1.5
  plot name.'-field.csv' every ::1 using ($1-$3/2*0.4):($2-$4/2*0.28):($3*0.4):($4*0.28) with vectors head filled size screen 0.008,20 linecolor rgb '#bbbbbb' linewidth 0.5 notitle, \
       for [i=1:6] name.'.csv' index i using 1:2 with lines linetype 2 linewidth 0.6 title (i == 1 ? 'noisy runs' : ''), \
       name.'.csv' index 0 every ::1 using 1:2 with lines linetype 1 linewidth 2 title 'reduced flow', \
       (x > 0.5 || x < -0.5 ? 1/x : NaN) with lines linetype 7 dashtype 3 linewidth 0.6 title 'α_A α_V = 1', \
       '+' using (1):(1) every ::0::0 with points linetype 7 pointtype 7 pointsize 0.6 title 'solution'
  unset output
}
