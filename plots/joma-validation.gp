# A block a learning rate: rate, least and last validation loss, rebound of layers 0 and 1.
# -correlation.csv, a row a layer and loss (1: least, 0: last): layer, least, mean over rates of the rank
# correlation, and what chance has in 95 % of permutations.
height = 5.4
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.96,0.085,0.96 spacing 0,0.12
  set xlabel 'rebound of attention entropy: end − least before (nats)'
  set ylabel 'least validation loss (nats)' offset 0.4+right,0
  do for [layer = 0:1] {
    stats name.'-correlation.csv' skip 1 every ::(2*layer)::(2*layer) using (r=$3, low=$4, high=$5, $1) nooutput
    set title sprintf('layer %d: rank correlation %.2f (chance %.2f to %.2f)', layer, r, low, high)
    if (layer == 0) { set key top right samplen 0.5 } else { unset key }
    plot for [k = 0:2] data index k using (column(4+layer)):2 with points linetype k+1 pointtype int(word('7 5 9', k+1)) pointsize 0.6 \
         title 'learning rate '.word('0.1 0.2 0.4', k+1)
  }
  unset multiplot
  unset output
}
