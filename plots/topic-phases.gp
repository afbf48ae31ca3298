# Blocks of .csv, plain descent, momentum, Adam: ratio of learning rates of W_K, W_Q and W_V, size of the
# start, logarithm to base 10 of the step of attention over that of W_V, share with W_V first.
height = 1.75
data = name.'.csv'
array titles[3] = ['plain descent', 'momentum', 'Adam']
set palette defined (-2 red, 0 '#ffffff', 2 blue)
set cbrange [-2:2]
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 1,3 margins 0.13,0.86,0.24,0.87 spacing 0.035,0
  unset key
  set xrange [-0.5:6.5]
  set yrange [-0.5:5.5]
  do for [i=0:2] {
    set title titles[i+1]
    if (i == 2) { set xtics ('10^{-2}' 0, '' 1, '0.1' 2, '' 3, '1' 4, '' 5, '10' 6) } else { set xtics ('1' 0, '' 1, '10' 2, '' 3, '10^2' 4, '' 5, '10^3' 6) }
    if (i == 0) { set ylabel 'size of the start' offset 0.5+right,0; set ytics ('10^{-4}' 0, '10^{-3}' 1, '10^{-2}' 2, '0.03' 3, '0.1' 4, '0.3' 5) } else { unset ylabel; set ytics ('' 0, '' 1, '' 2, '' 3, '' 4, '' 5) }
    if (i == 1) { set xlabel 'rate of W_K, W_Q over that of W_V' } else { set xlabel ' ' }
    if (i == 2) { set colorbox user origin 0.875,0.24 size 0.02,0.63; set cbtics ('1/100' -2, '1/10' -1, '1' 0, '10' 1, '100' 2) scale 0.3 offset -0.6,0 } else { unset colorbox }
    plot data index i every ::(i==0) using (int($0)/6):(int($0)%6):3 with image
  }
  unset multiplot
  unset output
}
