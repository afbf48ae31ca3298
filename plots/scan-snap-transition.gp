# Blocks of .csv, a decoder rate each (0.5, 1, 2, 5): t, B closed form, B of the reduced flow, the
# printed form less its value at 0. -marks.csv: eta_Y, t0, B closed form there.
height = 3.3
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.97,0.11,0.97 spacing 0,0.14
  set xrange [0:700]
  set xlabel ''
  eval y_range('0:0.06', '0:*')
  if (own eq '0') { set ytics 0.02 }
  set ylabel 'B_n' offset 0+right,0
  set key top left reverse Left maxrows 3 samplen 1.5 width -2
  plot for [b=0:3] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y = '.word('0.5 1 2 5', b+1), \
       for [b=0:3] name.'.csv' index b every 7::1 using 1:3 with points linetype b+1 pointtype 6 \
         pointsize 0.45 linewidth 0.6 title (b == 0 ? 'reduced flow' : ''), \
       name.'-marks.csv' every ::1 using 2:3 with points pointtype 7 pointsize 0.7 linecolor rgb black \
         title 'transition t_0'
  set xlabel 'time t (steps of batch 1)'
  eval y_range('0:0.5', '0:*')
  if (own eq '0') { set ytics 0.1 }
  set key top left reverse Left maxrows 2 samplen 1.5
  plot name.'.csv' index 1 every ::1 using 1:4 with lines linetype 2 dashtype 2 title 'Theorem 4 as printed, less its value at 0', \
       name.'.csv' index 1 every ::1 using 1:2 with lines linetype 2 title 'corrected (η_Y = 1)'
  unset multiplot
  unset output
}
