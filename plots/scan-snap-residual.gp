# Blocks of .csv, overlap across queries a quarter and 9/4 of that inside them: tau, z M eta_Y/eta_Z of
# the token that a query's classes share, of the one that two queries have, of one of a single class.
# Blocks of -change.csv, M = 100, 1000, 1e4, 1e5: M, overlap of classes inside a query and
# across, tau at which z' of the second token turns positive, integrated and for M -> infinity.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.09,0.955 spacing 0,0.13
  set title '(a) overlap across/inside: 9/4 (solid), 1/4 (dashed)'
  set xlabel 'τ = η_Y t/K'
  set ylabel 'z M η_Y/η_Z' offset 0.5+right,0
  set xrange [0:8]
  set yrange [-2.6:2.4]
  set key bottom right noreverse Right
  set xzeroaxis linetype 1 linecolor rgb grey linewidth 0.5
  plot name.'.csv' index 0 using 1:4 with lines linetype 3 dashtype 2 notitle, \
       name.'.csv' index 0 using 1:2 with lines linetype 1 dashtype 2 notitle, \
       name.'.csv' index 0 using 1:3 with lines linetype 2 dashtype 2 notitle, \
       name.'.csv' index 1 using 1:4 with lines linetype 3 title 'token in one class', \
       name.'.csv' index 1 using 1:3 with lines linetype 2 title 'in both queries', \
       name.'.csv' index 1 using 1:2 with lines linetype 1 title 'in both classes'
  set title "(b) where z' of a token in both queries turns positive"
  set xlabel 'overlap of classes, inside a query and across'
  set ylabel 'τ' offset 0.5+right,0
  set logscale x
  set xrange [0.008:0.5]
  set yrange [0:15]
  set key top right noreverse Right
  m(b) = 'M = '.word('100 1000 10^4 10^5', b+1)
  plot for [b=0:3] name.'-change.csv' index b every ::(b==0) using 2:3 with points linetype b+1 pointtype 7 pointsize 0.5 title m(b), \
       name.'-change.csv' index 3 using 2:4 with lines linetype 7 title 'M → ∞, formula'
  unset logscale
  unset title
  unset multiplot
  unset output
}
