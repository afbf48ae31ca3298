# .csv: exponent of Zipf's law; attention of pairs of one topic, of pairs most often together, of others;
# cosines of the three; share of one topic among the second: each mean over seeds and half width.
height = 3.6
data = name.'.csv'
array titles[2] = ['attention, mean over keys = 1', 'cosine of embeddings']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.13,0.96,0.10,0.95 spacing 0,0.10
  set xrange [-0.1:2.1]
  set xtics 0.5
  do for [i=0:1] {
    set title titles[i+1]
    if (i == 1) { set xlabel "exponent of Zipf's law in a topic"; unset key; set autoscale y } else { set key at graph 0.98,0.99; set yrange [0:6.5] }
    plot for [k=0:2] data every ::1 using ($1+0.015*(k-1)):(column(2+6*i+2*k)):(column(3+6*i+2*k)) with yerrorbars linetype k+1 pointtype 7 pointsize 0.5 notitle, \
         data every ::1 using ($1-0.015):(column(2+6*i)) with lines linetype 1 title 'words of one topic', \
         data every ::1 using 1:(column(4+6*i)) with lines linetype 2 title 'as many pairs most often together', \
         data every ::1 using ($1+0.015):(column(6+6*i)) with lines linetype 3 title 'all others'
  }
  unset multiplot
  unset output
}
