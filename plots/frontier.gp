# NAME.csv: value of the knob, share of instances whose conclusion has failed, quantiles 0.25, 0.5,
# 0.75 of the relative margin over the instances. Variables: axis, x_low, x_high, spacing, heading, caption,
# caption_lines.
foot = 0.1 + 0.1*int(caption_lines)
height = 3.6 + foot
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.18,0.96,(foot+0.43)/height,1-0.22/height spacing 0,0.09
  set label 1 caption at screen 0.02, screen (foot-0.02)/height left noenhanced font ',5.5'
  if (spacing eq 'logarithmic') { set logscale x; set format x '10^{%T}' }
  set xrange [x_low:x_high]
  set title heading
  set ylabel 'share that fails' offset 0+right,0
  set yrange [-0.03:1.03]
  set ytics 0.25
  set key off
  plot name.'.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 7 pointsize 0.5
  unset title
  unset label 1
  set xlabel axis
  set ylabel 'relative margin' offset 0+right,0
  set yrange [-1.05:1.05]
  set ytics 0.5
  set key bottom left reverse Left
  plot name.'.csv' every ::1 using 1:3:5 with filledcurves linecolor rgb sky fillstyle transparent solid 0.35 title 'half of the instances', \
       name.'.csv' every ::1 using 1:4 with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'median', \
       0 with lines linecolor rgb grey dashtype 2 notitle
  if (spacing eq 'logarithmic') { unset logscale x; set format x }
  unset multiplot
  unset output
}
