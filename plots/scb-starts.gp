# Blocks of .csv: mu 1' projected, mu 1' unprojected, 11'/N projected, 11'/N unprojected: t, distances
# to P and Q, loss, mean of S.
height = 4.2
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 3,1 margins 0.16,0.96,0.09,0.98 spacing 0,0.045
  eval x_range('0:400', '0:*')
  set format x ''
  set logscale y
  set format y '10^{%T}'
  set key top right
  set ylabel '‖V − P‖_μ' offset 0+right,0
  set ytics autofreq
  eval y_range('0.005:20', '*:*')
  plot data index 0 every ::1 using 1:2 with lines linetype 1 linewidth 2.4 title 'V = μ1ᵀ, projected', \
       data index 2 using 1:2 with lines linetype 5 dashtype 3 title 'V = 11ᵀ/N, projected', \
       data index 1 using 1:2 with lines linetype 3 dashtype 2 title 'V = μ1ᵀ, not projected', \
       data index 3 using 1:2 with lines linetype 2 title 'V = 11ᵀ/N, not projected'
  set ylabel '‖A − Q‖_μ' offset 0+right,0
  eval y_range('0.1:1', '*:*')
  plot data index 0 every ::1 using 1:3 with lines linetype 1 linewidth 2.4 notitle, \
       data index 2 using 1:3 with lines linetype 5 dashtype 3 notitle, \
       data index 1 using 1:3 with lines linetype 3 dashtype 2 notitle, \
       data index 3 using 1:3 with lines linetype 2 notitle
  unset logscale y
  if (own eq '0') { set ytics 0.05 }
  set format '%g'
  set xlabel 't'
  set ylabel 'mean of Σ_t a_t' offset 0+right,0
  set autoscale y
  plot data index 0 every ::1 using 1:5 with lines linetype 1 linewidth 2.4 notitle, \
       data index 2 using 1:5 with lines linetype 5 dashtype 3 notitle, \
       data index 1 using 1:5 with lines linetype 3 dashtype 2 notitle, \
       data index 3 using 1:5 with lines linetype 2 notitle
  unset multiplot
  unset output
}
