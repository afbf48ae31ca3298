# Blocks of .csv: centred logits of attention, pointwise information of co-occurrence: query, key,
# value.
height = 1.75
data = name.'.csv'
array titles[2] = ['logits of attention', 'ln of co-occurrence']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,2 margins 0.11,0.90,0.20,0.90 spacing 0.18,0
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set size square
  set xtics 20
  set ytics 20
  set xlabel 'query'
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 0) { set ylabel 'key' offset 1+right,0 }
    set autoscale xy
    stats data index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.1f', -top) -top, '0' 0, sprintf('%.1f', top) top) scale 0.3 offset -0.6,0
    set xrange [-0.5:99.5]
    set yrange [99.5:-0.5]
    plot data index i every ::(i==0) using 1:2:3 with image
    unset ylabel
  }
  unset multiplot
  unset output
}
