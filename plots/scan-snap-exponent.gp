# Blocks of .csv, a ratio eta_Y/eta_Z each (0.1, 1, 10): t, B in closed form, B integrated.
# -table.csv: ratio, eta_Y, M, t (5 and 50), B in closed form, B integrated.
height = 2.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.155
  set rmargin at screen 0.97
  set bmargin at screen 0.15
  set tmargin at screen 0.97
  set logscale x
  set format x '10^{%T}'
  eval x_range('0.1:1000', '0.1:1000')
  eval y_range('0:2.5', '0:*')
  set xlabel 'time t (steps of batch 1)'
  set ylabel 'growth exponent B' offset 0+right,0
  set key top left reverse Left
  plot for [b=0:2] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y/η_Z = '.word('0.1 1 10', b+1), \
       for [b=0:2] name.'.csv' index b every 6::1 using 1:3 with points linetype b+1 pointtype 6 \
         pointsize 0.6 notitle, \
       1/0 with points linecolor rgb grey pointtype 6 pointsize 0.6 title 'integrated'
  unset logscale
  unset output
}
