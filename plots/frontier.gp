# NAME.csv: value of the knob, share of instances whose conclusion has failed, quantiles 0.25, 0.5,
# 0.75 over the instances of off/allowed. Variables: axis, x_low, x_high, spacing, heading, caption,
# caption_lines.
# A failure may be off by any multiple of what is allowed.
shown(share) = share > 2 ? 2 : share < 0 ? 0 : share
foot = 0.1 + 0.1*int(caption_lines)
height = 3.6 + foot
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.18,0.96,(foot+0.43)/height,1-0.22/height spacing 0,0.09
  set label 1 caption at screen 0.02, screen (foot-0.02)/height left noenhanced font ',5.5'
  if (spacing eq 'logarithmic') { set logscale x; set format x '10^{%T}' }
  eval marks_of('x', real(x_low), real(x_high), spacing eq 'logarithmic')
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
  set ylabel 'off/allowed' offset 0+right,0
  set yrange [-0.05:2.6]  # room for the legend
  set ytics (0, 0.5, 1, 1.5, '≥ 2' 2)
  set key top left reverse Left
  plot name.'.csv' every ::1 using 1:(shown($3)):(shown($5)) with filledcurves linecolor rgb sky fillstyle transparent solid 0.35 title 'half of the instances', \
       name.'.csv' every ::1 using 1:(shown($4)) with linespoints linetype 1 pointtype 7 pointsize 0.5 title 'median', \
       1 with lines linecolor rgb grey dashtype 2 notitle
  if (spacing eq 'logarithmic') { unset logscale x; set format x '%h' }
  unset multiplot
  unset output
}
