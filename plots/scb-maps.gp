# Blocks of .csv: Q, A (position, token, value), P, V (next token, token, value).
height = 3.4
data = name.'.csv'
stats data index 0 using 1 name 'positions' nooutput
stats data index 0 using 2 name 'tokens' nooutput
set palette defined (0 '#ffffff', 0.25 '#9ecae1', 0.6 '#2171b5', 1 '#08306b')
unset colorbox
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  set yrange [-0.5:tokens_max+0.5]
  set ytics ceil((tokens_max+1)/10.0)
  set cbrange [0:0.8]
  set xrange [-0.5:positions_max+0.5]
  set xtics ceil((positions_max+1)/6.0)
  set lmargin at screen 0.12
  set rmargin at screen 0.97
  set tmargin at screen 0.94
  set bmargin at screen 0.76
  set ylabel 'token k' offset 0.5+right,0
  set title 'ground truth Q: weight of position t'
  plot data index 0 every ::1 using 1:2:3 with image notitle
  set tmargin at screen 0.65
  set bmargin at screen 0.47
  set xlabel 'position t'
  set title 'attention A after training'
  plot data index 1 using 1:2:3 with image notitle
  set cbrange [0:0.4]
  set xrange [-0.5:tokens_max+0.5]
  set xtics ceil((tokens_max+1)/10.0)
  set tmargin at screen 0.31
  set bmargin at screen 0.1
  set xlabel 'next token'
  set rmargin at screen 0.5
  set title 'ground truth P'
  plot data index 2 using 1:2:3 with image notitle
  set lmargin at screen 0.59
  set rmargin at screen 0.97
  unset ylabel
  set title 'values V after training'
  plot data index 3 using 1:2:3 with image notitle
  unset multiplot
  unset output
}
