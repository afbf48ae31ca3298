# .csv, blocks K = 2, 8, 32: K, N, quantile of |theta_n| by the exact law, its bound, quantile of
# |sigma_n|, its early bound. -draws.csv, the same blocks: K, N, quantiles of draws with intervals.
# -waiting.csv, the same blocks: K, 1/eps, mean T, quantile of T with its interval, the sum, the bound.
height = 5.6
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.15,0.97,0.07,0.965 spacing 0,0.09
  set logscale xy
  set format xy '10^{%T}'
  set bars 0.4
  set title '(a) factor 1 + θ_n of W_n'
  set xlabel 'draws N'
  set ylabel '|θ_n|, exceeded with 1 %' offset 0+right,0
  set xrange [8:6e5]
  set yrange [1e-4:1e4]
  set key top right
  k(b) = 'K = '.word('2 8 32', b+1)
  plot for [b=0:2] name.'.csv' index b every ::(b==0) using 2:4 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:3 with lines linetype b+1 title k(b), \
       for [b=0:2] name.'-draws.csv' index b every ::(b==0) using 2:3:4:5 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       NaN with lines linetype 7 title 'exact law, ○ draws', \
       NaN with lines linetype 7 dashtype 2 title 'K Δ/N'
  set title '(b) factor 1 + σ_n of e_n − α_n'
  set ylabel '|σ_n|, exceeded with 1 %' offset 0+right,0
  set yrange [1e-3:3e3]
  set key top left reverse Left
  plot for [b=0:2] name.'.csv' index b every ::(b==0) using 2:6 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:4 with lines linetype b+1 dashtype 3 notitle, \
       for [b=0:2] name.'-draws.csv' index b every ::(b==0) using 2:6:7:8 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       for [b=0:2] name.'.csv' index b every ::(b==0) using 2:5 with lines linetype b+1 notitle, \
       NaN with lines linetype 7 dashtype 2 title 'η_Y Δ/3, the same for all K', \
       NaN with lines linetype 7 dashtype 3 title 'K Δ/N, for late N'
  set title '(c) draws until |e_n − α_n| ≤ ε for all n'
  set xlabel '1/ε'
  set ylabel 'draws T' offset 0.5+right,0
  set xrange [3:400]
  set yrange [30:1e6]
  plot for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:8 with lines linetype b+1 dashtype 2 notitle, \
       for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:3 with lines linetype b+1 notitle, \
       for [b=0:2] name.'-waiting.csv' index b every ::(b==0) using 2:4:5:6 with yerrorbars linetype b+1 pointtype 6 pointsize 0.5 notitle, \
       NaN with lines linetype 7 dashtype 2 title 'K ln(M/ε)/(ε η_Y)', \
       NaN with lines linetype 7 title 'mean T, exact law', \
       NaN with points linetype 7 pointtype 6 pointsize 0.5 title 'T exceeded with 1 %, draws'
  unset logscale
  unset title
  unset multiplot
  unset output
}
