# Blocks of .csv: log2 B, log10 of the step size or of lambda, success rate.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.16,0.80,0.10,0.98 spacing 0,0.10
  set palette defined (0 '#ffffff', 0.5 sky, 1 blue)
  set cbrange [0:1]
  set cblabel 'share of runs that succeed' offset 0.5,0
  set cbtics 0.25 scale 0.3
  set xrange [1:15]
  set xtics ('2^2' 2, '2^6' 6, '2^{10}' 10, '2^{14}' 14)
  unset key
  set ylabel 'step size η' offset 0+right,0
  set yrange [-2.375:-0.625]
  set ytics ('0.01' -2, '0.03' -1.5, '0.1' -1)
  plot data index 0 every ::1 using 1:2:3 with image
  set xlabel 'batch size B'
  set ylabel 'weight of l1, λ' offset 0+right,0
  set yrange [-4.25:-0.75]
  set ytics ('10^{−4}' -4, '10^{−3}' -3, '10^{−2}' -2, '10^{−1}' -1)
  plot data index 1 using 1:2:3 with image
  unset multiplot
  unset output
}
