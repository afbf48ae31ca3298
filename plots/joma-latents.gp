# -scores.csv, a block a data set (20, 60 sequences) and reading (trained, untrained, latents of the
# wrong sequences on both, permuted labels): classes, layer, level, reading, free, its half width,
# matched, its half width. -entropy.csv, a block a layer: step, layer, mean, least, largest.
# -order.csv, blocks of attention trained and frozen: layer, level, step, half width.
height = 7.2
place(layer, level) = 3*layer + level + 0.5
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 4,1 margins 0.13,0.97,0.058,0.973 spacing 0,0.08
  set ylabel 'mean best |corr|' offset 0.4+right,0
  set xrange [-0.2:8.2]
  set xtics ("0, 0" 0.5, "0, 1" 1.5, "1, 0" 3.5, "1, 1" 4.5, "2, 0" 6.5, "2, 1" 7.5)
  set ytics 0.1
  do for [set_of_data = 0:1] {
    set title (set_of_data == 0 ? '(a) 20 sequences, latents 10, 20' : '(b) 60 sequences, latents 20, 30')
    set xlabel 'layer, level of the latents'
    if (set_of_data == 0) { set yrange [0.1:0.8]; set key bottom left reverse Left samplen 0.5 maxrows 3 width -3 }
    if (set_of_data == 1) { set yrange [0.2:0.6]; unset key }
    first = 5*set_of_data
    plot name.'-scores.csv' index first using (place($2,$3)-0.24):5:6 with yerrorbars pointtype 7 pointsize 0.6 linecolor rgb blue title 'trained', \
         '' index first+4 using (place($2,$3)-0.12):5:6 with yerrorbars pointtype 6 pointsize 0.6 linecolor rgb sky title 'permuted labels', \
         '' index first+1 using (place($2,$3)):5:6 with yerrorbars pointtype 5 pointsize 0.6 linecolor rgb orange title 'untrained', \
         '' index first+2 using (place($2,$3)+0.12):5:6 with yerrorbars pointtype 9 pointsize 0.6 linecolor rgb red title 'wrong latents', \
         '' index first+3 using (place($2,$3)+0.24):5:6 with yerrorbars pointtype 8 pointsize 0.6 linecolor rgb pink title 'untrained, wrong latents'
  }
  set title '(c) attention entropy at the last position, 60 sequences'
  set xlabel 'step'
  set ylabel 'entropy (nats)'
  set xrange [1:*]
  set logscale x
  set xtics autofreq
  set format x '10^{%T}'
  set ytics autofreq
  set yrange [*:*]
  set key bottom left reverse Left samplen 2
  plot for [h = 0:2] name.'-entropy.csv' index h using 1:4:5 with filledcurves linetype h+1 fillstyle transparent solid 0.15 notitle, \
       for [h = 0:2] '' index h using 1:3 with lines linetype h+1 title sprintf('layer %d', h)
  unset logscale x
  set format x '%g'
  set title '(d) step at which scores are halfway, 60 sequences'
  set xlabel 'layer, level of the latents'
  set ylabel 'step'
  set xrange [-0.2:8.2]
  set xtics ("0, 0" 0.5, "0, 1" 1.5, "1, 0" 3.5, "1, 1" 4.5, "2, 0" 6.5, "2, 1" 7.5)
  set yrange [0:350]
  set key top right reverse Left samplen 0.5
  plot name.'-order.csv' index 0 using (place($1,$2)-0.1):3:4 with yerrorbars pointtype 7 pointsize 0.6 linecolor rgb blue title 'attention trained', \
       '' index 1 using (place($1,$2)+0.1):3:4 with yerrorbars pointtype 6 pointsize 0.6 linecolor rgb red title 'attention uniform'
  unset multiplot
  unset output
}
