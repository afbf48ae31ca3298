# Blocks of .csv, a panel each: step, token, attention c_0. Tokens 0 to 9 are common, 10 to 19 distinct
# with weights 0.1 to 1.
height = 4.6
data = name.'.csv'
array panels[5]
panels[1] = 'SGD with momentum, η_Y = 1, η_Z = 1'
panels[2] = 'SGD with momentum, η_Y = 10, η_Z = 1'
panels[3] = 'Adam 0.1'
panels[4] = 'Adam 0.5'
panels[5] = 'Adam 1'
set palette defined (0 '#ffffff', 0.25 '#9ecae1', 0.6 '#2171b5', 1 '#08306b')
set cbrange [0:0.3]
set colorbox
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set multiplot layout 5,1 margins 0.13,0.83,0.08,0.965 spacing 0,0.055
  set xrange [-0.5:100.5]
  set yrange [-0.5:19.5]
  set ytics ('0' 0, '10' 10, '19' 19)
  set cbtics 0.1
  set ylabel 'token l' offset 0.2+right,0
  do for [p=1:5] {
    set title panels[p]
    unset xlabel
    set format x ''
    if (p == 1) { set label 1 'c_0(l)' at screen 0.86,0.985 } else { unset label 1 }
    if (p == 5) { set xlabel 'step'; set format x '%g' }
    plot data index p-1 using 1:2:3 with image notitle
  }
  unset multiplot
  unset output
}
