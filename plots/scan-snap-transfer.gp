# Blocks of .csv, M = 300, 3000, 3e4, 3e5: M, eta_Y/eta_Z, share of instances in which z' of a
# distinct token turns negative on the flow by t = 1e6, its 95 % interval, median of the first such
# time, instances.
height = 4.4
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 2,1 margins 0.17,0.97,0.09,0.955 spacing 0,0.13
  m(b) = 'M = '.word('300 3000 3·10^4 3·10^5', b+1)
  set title '(a) share of 400 instances, 95 % interval'
  set xlabel 'η_Y / η_Z'
  set ylabel 'M' offset 0.5+right,0
  set xrange [-0.5:6.5]
  set yrange [-0.5:3.5]
  set xtics ('1' 0, '3' 1, '10' 2, '30' 3, '100' 4, '300' 5, '1000' 6) offset 0,0.3+tight
  set ytics ('300' 0, '3000' 1, '3·10^4' 2, '3·10^5' 3)
  set cbrange [0:1]
  set palette defined (0 '#FFFFFF', 1 red)
  unset colorbox
  unset key
  column_of(r) = r < 2 ? 0 : r < 5 ? 1 : r < 20 ? 2 : r < 50 ? 3 : r < 200 ? 4 : r < 500 ? 5 : 6
  row_of(t) = t < 1e3 ? 0 : t < 1e4 ? 1 : t < 1e5 ? 2 : 3
  plot for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)):(0.5):(0.5):3 with boxxyerror fillstyle solid 1 noborder fillcolor palette, \
       for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)+0.16):(sprintf('%.0f %%', 100*$3)) with labels, \
       for [b=0:3] name.'.csv' index b every ::(b==0) using (column_of($2)):(row_of($1)-0.2):(sprintf('%.0f–%.0f', 100*$4, 100*$5)) with labels textcolor rgb '#444444'
  set title "(b) first loss of a distinct token, median"
  set key top left reverse Left
  set ytics auto
  set xtics auto
  set logscale xy
  set format xy '10^{%T}'
  set xrange [0.8:500]
  set yrange [1:1e8]
  set ylabel 't' offset 0.5+right,0
  plot for [b=0:3] name.'.csv' index b every ::(b==0) using 2:6 with linespoints linetype b+1 pointtype 7 pointsize 0.5 title m(b)
  unset logscale
  unset title
  unset multiplot
  unset output
}
