# NAME.csv: x, y, value in blocks of one x. NAME-minimum.csv: where it is least (a point, or the ends of a line).
# NAME-path.csv: x, y of a line.
# Variables: x_label, y_label, value_label, path_label, logarithmic (1: the colour), least (of the colour), caption, caption_lines.
foot = 0.16 + 0.1*int(caption_lines)
height = 2.55 + foot
floor_of_colour = real(least)
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set label 1 caption at screen 0.02, screen (foot-0.08)/height left noenhanced font ',5.5'
  set lmargin at screen 0.13
  set rmargin at screen 0.77
  set bmargin at screen (foot+0.33)/height
  set tmargin at screen (height-0.25)/height
  set palette defined (0 '#ffffff', 0.3 '#9ecae1', 1 '#2171b5')
  if (logarithmic eq '1') { set logscale cb; set format cb '10^{%T}'; set cbrange [floor_of_colour:*] }
  set cblabel value_label offset 1.5,0
  set xlabel x_label
  set ylabel y_label offset 1+right,0
  set key at screen 0.45, screen 1-0.03/height center top horizontal
  set autoscale fix
  plot name.'.csv' every ::1 using 1:2:(logarithmic eq '1' && $3 < floor_of_colour ? floor_of_colour : $3) with image notitle, \
       name.'-minimum.csv' every ::1 using 1:2 with linespoints linetype 2 pointtype 7 pointsize 0.7 title 'minimum', \
       name.'-path.csv' every ::1 using 1:2 with lines linetype 3 linewidth 1.5 title path_label
  unset output
}
