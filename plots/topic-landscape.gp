# -grid.csv: blocks block-wise, middle, diagonal: alpha, beta, loss above the minimum. -optimum.csv:
# line or point of minimisers. .csv: for each W_V the path of the flow, then that of SGD.
height = 6
data = name.'.csv'
grid = name.'-grid.csv'
optimum = name.'-optimum.csv'
array titles[3] = ['block-wise W_V', 'the mean of both', 'diagonal W_V']
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.12,0.78,0.07,0.96 spacing 0,0.07
  eval x_range('0:54', '*:*')
  eval y_range('0:6', '*:*')
  set palette defined (0 '#ffffff', 0.3 '#9ecae1', 1 '#2171b5')
  set logscale cb
  set cbrange [1e-5:0.3]
  set format cb '10^{%T}'
  set cblabel 'loss above the minimum' offset 1.5,0
  set key top right
  do for [i=0:2] {
    set title titles[i+1].(own eq '1' ? ', T = '.T.', τ = '.tau.', v = '.v : '')
    if (i == 2) { set xlabel 'α, weight of the same word' }
    set ylabel 'β, other words of the topic' offset 0+right,0
    plot grid index i every ::(i==0) using 1:2:($3 > 1e-5 ? $3 : 1e-5) with image notitle, \
         data index 2*i every ::(i==0) using 1:2 with lines linetype 7 title (i == 0 ? 'flow of W_K, W_Q' : ''), \
         data index 2*i+1 using 1:2 every 12 with points linetype 2 pointtype 6 pointsize 0.5 title (i == 0 ? 'SGD' : ''), \
         optimum index i every ::(i==0) using 1:2 with linespoints linetype 3 pointtype 7 pointsize 0.7 title (i == 0 ? 'certified minimisers' : '')
  }
  unset multiplot
  unset output
}
