# Blocks of .csv: Q, linear by plain steps, linear by three parts, softmax: position, token, attention.
height = 3.4
data = name.'.csv'
stats data index 0 using 1 name 'positions' nooutput
stats data index 0 using 2 name 'tokens' nooutput
titles = '"Q" "linear, plain steps" "linear, three parts" "softmax, plain steps"'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.09,0.86,0.12,0.94 spacing 0,0.08
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set cbrange [-1:1]
  set cbtics 1 scale 0.3
  set xrange [-0.5:positions_max+0.5]
  set yrange [-0.5:tokens_max+0.5]
  token_step = tokens_max < 5 ? 1 : 5*ceil((tokens_max+1)/10.0)
  set ytics token_step
  set format x ''
  unset key
  do for [i=0:3] {
    if (i == 3) { set format x '%g'; set xlabel 'position' }
    if (i == 0) { set ylabel 'token' offset 1+right,0 }
    set title word(titles, i+1)
    plot data index i every ::(i==0) using 1:2:3 with image
    unset ylabel
  }
  unset multiplot
  unset output
}
