# NAME.csv: number of the step, its rungs, then for each observable the relative distance of the two.
# Variables: observables, steps.
count = words(observables)
rows = int(steps)
height = 1.35 + 0.3*rows + 0.085*count
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.36
  set rmargin at screen 0.95
  set bmargin at screen 0.45/height
  set tmargin at screen (0.45+0.3*rows)/height
  set logscale x
  set format x '10^{%T}'
  set xlabel 'relative distance'
  set yrange [rows-0.5:-0.5]
  set grid ytics linecolor rgb '#dddddd' linewidth 0.5
  set ytics noenhanced
  set key at screen 0.95, screen 0.97 top right maxcols 2 noenhanced font ',6' spacing 0.95*line
  plot for [c=1:count] name.'.csv' every ::1 using (column(2+c)):($1+(c-0.5*(count+1))*0.7/count):ytic(2) with points linetype c pointtype (3+2*((c-1)%6)) pointsize 0.6 title word(observables, c)
  unset output
}
