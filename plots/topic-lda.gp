# Blocks of .csv, one-hot and trained embeddings: step, attention over uniform on the same word, other
# words of the topic, other topics: mean over seeds and half width of its 95 % interval. -blocks.csv: W_V
# of one-hot embeddings, W_E' W_V W_E and W_E' W_E of trained ones: column, row, value.
height = 4.7
data = name.'.csv'
blocks = name.'-blocks.csv'
array titles[2] = ['one-hot embeddings', 'trained embeddings']
array matrices[3] = ['W_V, one-hot', 'W_E^T W_V W_E', 'W_E^T W_E']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot
  set size nosquare
  set format x '%g'
  set format y '%g'
  set xtics autofreq
  set ytics autofreq
  eval y_range('0:5.5', '0:*')
  set xrange [0:1000]
  set lmargin at screen 0.17
  set rmargin at screen 0.96
  set ylabel 'attention, uniform = 1' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    set tmargin at screen 0.965 - 0.37*i
    set bmargin at screen 0.965 - 0.37*i - 0.27
    if (i == 1) { set xlabel 'step of Adam'; unset key } else { set key at graph 0.98,0.98 }
    plot for [k=1:3] data index i every ::(i==0) using 1:(column(2*k)-column(2*k+1)):(column(2*k)+column(2*k+1)) with filledcurves linetype k fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:2 with lines linetype 1 title 'same word', \
         data index i every ::(i==0) using 1:4 with lines linetype 2 title 'other words of the topic', \
         data index i every ::(i==0) using 1:6 with lines linetype 3 title 'words of other topics'
  }
  unset xlabel
  unset ylabel
  unset key
  set palette defined (-1 red, 0 '#ffffff', 1 blue)
  set xtics v+0
  set ytics v+0
  set format x ''
  set format y ''
  set colorbox
  do for [i=0:2] {
    set title matrices[i+1]
    set lmargin at screen 0.03 + 0.32*i
    set rmargin at screen 0.03 + 0.32*i + 0.225
    set tmargin at screen 0.195
    set bmargin at screen 0.025
    set autoscale xy
    stats blocks index i every ::(i==0) using 3 nooutput
    top = abs(STATS_max) > abs(STATS_min) ? abs(STATS_max) : abs(STATS_min)
    set cbrange [-top:top]
    set cbtics (sprintf('%.2g', -top) -top, '0' 0, sprintf('%.2g', top) top) scale 0.3 offset -0.6,0
    set xrange [0:T*v]
    set yrange [T*v:0]
    plot blocks index i every ::(i==0) using ($1+0.5):($2+0.5):3 with image
  }
  unset multiplot
  unset output
}
