# .csv: word, 1 if distinct, attention before (t = 0), at t0, after (20 t0). -about.csv: last and next
# token of the class, t0, end.
height = 2.7
stats name.'-about.csv' every ::1 using 3 nooutput
t0 = STATS_max
stats name.'.csv' every ::1 using 3 nooutput
rows = STATS_records
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.14
  set rmargin at screen 0.97
  set bmargin at screen 0.22
  set tmargin at screen 0.9
  set termoption noenhanced
  last = ''; next = ''
  stats name.'-about.csv' every ::1 using (last = strcol(1), next = strcol(2), 1) nooutput
  set title sprintf("context of \"%s %s\"", last, next)
  set style data histograms
  set style histogram clustered gap 1
  set style fill solid 0.9 noborder
  set boxwidth 0.9 relative
  set xtics rotate by -45 scale 0 offset 0,0
  set yrange [0:*]
  set xrange [-0.7:rows-0.3]
  set ylabel 'attention on the token' offset 0.5+right,0
  set key top right samplen 1
  plot name.'.csv' every ::1 using 3:xtic(1) linetype 6 title 'before, t = 0', \
       '' every ::1 using 4 linetype 1 title sprintf('at t0 = %.0f', t0), \
       '' every ::1 using 5 linetype 2 title sprintf('after, t = %.0f', 20*t0)
  unset output
}
