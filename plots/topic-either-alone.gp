# Blocks of .csv, squared loss then cross entropy, each neither, embeddings, attention, both: step,
# mean loss over seeds, half width of its 95 % interval. -bayes.csv, a row a loss: Bayes loss of
# nothing, of the topics, of topics and token.
height = 3.6
data = name.'.csv'
bayes = name.'-bayes.csv'
array titles[2] = ['squared loss', 'cross entropy']
array parts[4] = ['neither', 'embeddings alone', 'attention alone', 'both']
array colours[4] = [grey, red, blue, green]
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.96,0.10,0.95 spacing 0,0.10
  set ylabel 'loss of a selected position' offset 0+right,0
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel 'step of Adam'; set key at graph 0.98,0.66 } else { unset key }
    set autoscale xy
    stats bayes every ::(i+1)::(i+1) using 1 nooutput
    nothing = STATS_max
    stats bayes every ::(i+1)::(i+1) using 2 nooutput
    topics = STATS_max
    stats bayes every ::(i+1)::(i+1) using 3 nooutput
    token = STATS_max
    set xrange [0:3000]
    set yrange [token-0.2*(nothing-token):nothing+0.45*(nothing-token)]
    set label 1 'Bayes: nothing' at graph 0.99, first nothing right offset 0,-0.45*line font ',6'
    set label 2 'Bayes: topics' at graph (i == 1 ? 0.3 : 0.99), first topics right offset 0,-0.45*line font ',6'
    set label 3 'Bayes: topics and token' at graph 0.99, first token right offset 0,-0.45*line font ',6'
    plot nothing with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         topics with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         token with lines linecolor rgb black linewidth 0.5 dashtype 2 notitle, \
         for [p=1:4] data index 4*i+p-1 every ::(i==0 && p==1) using 1:($2-$3):($2+$3) with filledcurves fillcolor rgb colours[p] fillstyle transparent solid 0.25 noborder notitle, \
         for [p=1:4] data index 4*i+p-1 every ::(i==0 && p==1) using 1:2 with lines linecolor rgb colours[p] title parts[p]
  }
  unset multiplot
  unset output
}
