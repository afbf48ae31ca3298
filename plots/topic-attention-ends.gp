# Blocks of .csv, block-wise W_V by the flow and by Adam, diagonal W_V by Adam: size of the start; shares of starts that end with three
# values of attention, uniform over topics alone, same topic above other topics, each with its Wilson
# interval; median deviations of words and of topics; least and largest loss.
height = 4.4
data = name.'.csv'
array titles[3] = ['block-wise W_V, flow', 'block-wise W_V, Adam', 'diagonal W_V, Adam']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.17,0.96,0.075,0.965 spacing 0,0.075
  set logscale x
  set xrange [0.008:1.3]
  set xtics (0.01, 0.03, 0.1, 0.3, 1)
  set yrange [-0.03:1.08]
  set ytics 0.25
  set ylabel 'share of 100 starts' offset 0+right,0
  do for [i=0:2] {
    set title titles[i+1]
    if (i == 2) { set xlabel 'deviation of the entries of W_K and W_Q at first'; set key at graph 0.75,0.62 } else { unset key }
    plot data index i every ::(i==0) using ($1*0.98):2:3:4 with yerrorbars pointtype 7 pointsize 0.5 linecolor rgb blue notitle, \
         '' index i every ::(i==0) using ($1*0.98):2 with lines linecolor rgb blue title 'three values, within a tenth', \
         '' index i every ::(i==0) using ($1*1.02):5:6:7 with yerrorbars pointtype 5 pointsize 0.5 linecolor rgb red notitle, \
         '' index i every ::(i==0) using ($1*1.02):5 with lines linecolor rgb red title 'uniform over topics, not words'
  }
  unset multiplot
  unset output
}
