# Blocks of .csv, a decoder rate each (0.5, 1, 2, 5): t, chi - 1 on reduced, chi - 1 on flow.
# -marks.csv: eta_Y, t0, chi - 1 on reduced there.
height = 2.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.16
  set rmargin at screen 0.97
  set bmargin at screen 0.15
  set tmargin at screen 0.97
  set xrange [0:700]
  set logscale y
  eval y_range('1e-7:1e-2', '1e-9<*:*')
  set format y '10^{%T}'
  set xlabel 'time t (steps of batch 1)'
  set ylabel 'growth χ − 1' offset 0+right,0
  set key bottom right samplen 1.5 width -1
  plot for [b=0:3] name.'.csv' index b every ::1 using 1:2 with lines linetype b+1 \
         title 'η_Y = '.word('0.5 1 2 5', b+1), \
       for [b=0:3] name.'.csv' index b every ::1 using 1:3 with lines linetype b+1 dashtype 2 \
         notitle, \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 1 title 'reduced', \
       1/0 with lines linecolor rgb grey linewidth 1.2 dashtype 2 title 'flow', \
       name.'-marks.csv' every ::1 using 2:3 with points pointtype 7 pointsize 0.7 linecolor rgb black \
         title 'transition t_0'
  unset output
}
