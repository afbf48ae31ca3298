# .csv: t, B_n as printed, by Eqn 13 from 0, by Eqn 10, on the flow, and the quotients of neighbours.
# -marks.csv: t0, the second and third quotient as t -> 0.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.97,0.09,0.955 spacing 0,0.13
  set logscale xy
  set format xy '10^{%T}'
  set xlabel 't'
  eval x_range('1:1e4', '1:1e4')
  eval y_range('1e-7:1e5', '*:*')
  set title '(a) exponent B_n'
  set ylabel 'B_n' offset 0.5+right,0
  set key top left reverse Left
  plot name.'.csv' every ::1 using 1:2 with lines linetype 7 dashtype 2 title 'Eqn 14 as printed', \
       name.'.csv' every ::1 using 1:3 with lines linetype 1 title 'Eqn 13, from 0', \
       name.'.csv' every ::1 using 1:4 with lines linetype 3 title 'Eqn 10', \
       name.'.csv' every ::1 using 1:5 with lines linetype 2 title 'flow'
  set title '(b) too large by a factor, dotted: as t → 0'
  set ylabel 'quotient' offset 0.5+right,0
  eval y_range('0.7:3e4', '*:*')
  set key top right noreverse Right
  plot name.'.csv' every ::1 using 1:6 with lines linetype 7 dashtype 2 title 'Eqn 14/Eqn 13', \
       name.'.csv' every ::1 using 1:7 with lines linetype 1 title 'Eqn 13/Eqn 10', \
       name.'.csv' every ::1 using 1:8 with lines linetype 2 title 'Eqn 10/flow', \
       name.'-marks.csv' every ::1 using (1):2:(9999):(0) with vectors nohead linetype 1 dashtype 3 notitle, \
       name.'-marks.csv' every ::1 using (1):3:(9999):(0) with vectors nohead linetype 2 dashtype 3 notitle
  unset logscale
  unset title
  unset multiplot
  unset output
}
