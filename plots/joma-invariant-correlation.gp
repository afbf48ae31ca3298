# Columns: law, step, then median, least and largest over the starts of the normalised
# correlation and of the relative error.
height = 3.0
data = name.'.csv'
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.15,0.955,0.12,0.95 spacing 0,0.07
  set xrange [0:2000]
  set xlabel ''
  set format x ''
  set ylabel 'correlation NC(z, ẑ)'
  set yrange [0.75:1]
  set ytics 0.05
  set key bottom right
  set style fill transparent solid 0.2 noborder
  plot data index 0 using 2:4:5 with filledcurves linecolor rgb blue notitle, \
       data index 1 using 2:4:5 with filledcurves linecolor rgb red notitle, \
       data index 0 using 2:3 with lines linetype 1 title 'Gaussian X', \
       data index 1 using 2:3 with lines linetype 2 dashtype 2 title 'uniform X'
  set format x '%g'
  set xlabel 'step (full batch, η = 0.1)'
  set ylabel 'relative error |ẑ − z| / |z|'
  set logscale y
  set yrange [0.02:20]
  set ytics autofreq
  set key bottom right
  plot data index 0 using 2:7:8 with filledcurves linecolor rgb blue notitle, \
       data index 1 using 2:7:8 with filledcurves linecolor rgb red notitle, \
       data index 0 using 2:6 with lines linetype 1 title 'Gaussian X', \
       data index 1 using 2:6 with lines linetype 2 dashtype 2 title 'uniform X', \
       1 with lines linecolor rgb grey linewidth 0.6 dashtype 3 notitle
  unset logscale y
  unset multiplot
  unset output
}
