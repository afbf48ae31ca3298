# Blocks of .csv: W_V after stage 1, after stage 3, inner products of embeddings: column, row, value.
height = 1.2
data = name.'.csv'
array titles[3] = ['W_V after stage 1', 'W_V at the end', 'W_E^T W_E']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,3 margins 0.03,0.90,0.08,0.84 spacing 0.09,0
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set size square
  set xtics v+0
  set ytics v+0
  set format x ''
  set format y ''
  set colorbox
  do for [i=0:2] {
    set title titles[i+1]
    set autoscale xy
    stats data index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.1f', -top) -top, '0' 0, sprintf('%.1f', top) top) scale 0.3 offset -0.6,0
    set xrange [0:T*v]
    set yrange [T*v:0]
    plot data index i every ::(i==0) using ($1+0.5):($2+0.5):3 with image
  }
  unset multiplot
  unset output
}
