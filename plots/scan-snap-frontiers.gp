# -overlap.csv: lambda_max(E), shares of random instances with some xi_n < 0, with a fallen distinct
# token on reduced and on flow, 1 - cosine of z on both. -ratio.csv: eta_Y/eta_Z, shares of instances
# with a fallen distinct token on flow, fast-decoder, reduced. -length.csv: T, share of fallen distinct
# tokens, distance of z from descent (one run, mean of runs).
height = 5.2
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.15,0.97,0.075,0.965 spacing 0,0.1
  set yrange [0:0.3]
  set ytics 0.1
  set title '(a) overlap, η_Y/η_Z = 100'
  set xlabel 'λ_{max}(E)'
  set ylabel 'share of instances' offset 0+right,0
  set xrange [0:2.4]
  set key top left reverse Left
  plot name.'-overlap.csv' every ::1 using 1:2 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'ξ_n < 0 for some n', \
       name.'-overlap.csv' every ::1 using 1:3 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'a distinct token falls, reduced', \
       name.'-overlap.csv' every ::1 using 1:4 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'a distinct token falls, flow', \
       name.'-overlap.csv' every ::1 using 1:5 with lines linetype 4 dashtype 2 title '1 − cos(z_{reduced}, z_{flow})'
  set yrange [0:1]
  set ytics 0.2
  set title '(b) learning rates, one common token'
  set xlabel 'η_Y / η_Z'
  set logscale x
  set xrange [1:1e4]
  set format x '10^{%T}'
  set key top right noreverse Right
  plot name.'-ratio.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'a distinct token falls, flow', \
       name.'-ratio.csv' every ::1 using 1:3 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'fast-decoder', \
       name.'-ratio.csv' every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'reduced'
  set title '(c) sequence length, Syn-Small, 100 steps of SGD, batch 128'
  set xlabel 'sequence length T'
  set ylabel 'share, relative distance' offset 0.5+right,0
  set xrange [2:1100]
  set format x '%g'
  set yrange [0:1.2]
  plot name.'-length.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 5 pointsize 0.5 title 'distinct tokens that fell', \
       name.'-length.csv' every ::1 using 1:3 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'z of one run, from descent', \
       name.'-length.csv' every ::1 using 1:4 with linespoints linetype 3 pointtype 9 pointsize 0.5 title 'z of the mean over runs'
  unset logscale x
  unset title
  unset multiplot
  unset output
}
