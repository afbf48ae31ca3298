# Blocks of .csv, squared loss, cross entropy: step, attention over uniform on the same word, other
# words of the topic, other topics: mean and deviation over runs.
height = 3.6
data = name.'.csv'
array titles[2] = ['squared loss', 'cross entropy']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.96,0.10,0.95 spacing 0,0.09
  set logscale y
  eval y_range('0.1:300', '*:*')
  set xrange [0:1500]
  set key top left
  set ylabel 'attention, uniform = 1' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel 'step of Adam' }
    plot data index i every ::(i==0) using 1:($2-$3):($2+$3) with filledcurves fillcolor rgb blue fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:($4-$5):($4+$5) with filledcurves fillcolor rgb red fillstyle transparent solid 0.2 noborder notitle, \
         data index i every ::(i==0) using 1:2 with lines linetype 1 title (i == 0 ? 'same word' : ''), \
         data index i every ::(i==0) using 1:4 with lines linetype 2 title (i == 0 ? 'other words of the topic' : ''), \
         data index i every ::(i==0) using 1:6 with lines linetype 3 title (i == 0 ? 'words of other topics' : '')
  }
  unset multiplot
  unset output
}
