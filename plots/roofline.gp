# Ops under the device's roofs, both axes logarithmic: FLOP per byte, and the FLOP/s that the
# profile's rates give. A point's size is its share of the layer's time.
# Variables: ops[] (with FLOPs, of the forward; the longest first), op_titles[], op_words[]
# (what stands at their points), other_title, layer_s, peak (FLOP/s), bandwidth (bytes/s).
ridge = 1.0 * peak / bandwidth
tera = peak >= 1e12 ? 1e12 : 1e9
unit = peak >= 1e12 ? 'TFLOP/s' : 'GFLOP/s'
set logscale xy
set format x '%g'
set format y '%g'
set xlabel 'FLOP per byte moved'
set ylabel unit.' reached'
roof(x) = (x < ridge ? x * bandwidth : peak) / tera
intensity(unused) = column('flop_per_byte')
is_op(i, p) = strcol('forward_op') eq ops[i] && strcol('phase') eq p && intensity(0) > 0
y(i, p) = is_op(i, p) ? column('flop_per_s') / tera : NaN
any(unused) = intensity(0) > 0 ? column('flop_per_s') / tera : NaN
stats data using (intensity(0) > 0 ? intensity(0) : NaN) name 'seen' nooutput
stats data using (any(0)) name 'reached' nooutput
lowest = seen_min < ridge / 10 ? seen_min / 2 : ridge / 10
highest = seen_max > ridge * 10 ? seen_max * 2 : ridge * 10
bottom = reached_min < roof(lowest) ? reached_min : roof(lowest)
set xrange [lowest:highest]
set samples 2000
set xtics ()
set for [e=-6:9] xtics add (sprintf('%g', 10.0 ** e) 10.0 ** e, \
    sprintf('%g', 3 * 10.0 ** e) 3 * 10.0 ** e)
set ytics ()
set for [e=-9:6] ytics add (sprintf('%g', 10.0 ** e) 10.0 ** e, \
    sprintf('%g', 3 * 10.0 ** e) 3 * 10.0 ** e)
set yrange [bottom * 0.6:peak / tera * 2]
if (on_terminal) {
    set samples 90
    set ylabel
    plot roof(x) with points pointtype '.' title sprintf('roof, ridge %.0f FLOP/B', ridge), \
         for [i=1:n_ops] data using (intensity(0)):(y(i, 'forward')) with points \
             pointtype letter(i) title op_titles[i]
    exit
}
array filled[6] = [7, 5, 9, 11, 13, 15]
array open[6] = [6, 4, 8, 10, 12, 14]
set grid xtics ytics linetype 1 linewidth 0.4 linecolor '#DDDDDD'
set arrow 1 from ridge, graph 0 to ridge, peak / tera nohead back linecolor '#7F7F7F' dashtype 2
# the area of a point follows its share
size(unused) = 0.9 + 5 * sqrt(column('duration_s') / layer_s)
number(i) = is_op(i, 'forward') ? op_words[i] : ''
plot roof(x) with lines linecolor rgb '#000000' linewidth 1.8 \
         title sprintf('%.0f %s, %.2f TB/s', peak / tera, unit, bandwidth / 1e12), \
     keyentry with lines linecolor rgb '#7F7F7F' dashtype 2 \
         title sprintf('ridge %.0f FLOP/B', ridge), \
     for [i=1:n_ops] data using (intensity(0)):(y(i, 'forward')):(size(0)) with points \
         linecolor rgb c(i) pointtype filled[(i - 1) % 6 + 1] pointsize variable notitle, \
     for [i=1:n_ops] data using (intensity(0)):(y(i, 'recompute')):(size(0)) with points \
         linecolor rgb c(i) pointtype open[(i - 1) % 6 + 1] pointsize variable notitle, \
     for [i=1:n_ops] data using (intensity(0)):(y(i, 'backward')):(size(0)) with points \
         linecolor rgb c(i) pointtype open[(i - 1) % 6 + 1] pointsize variable notitle, \
     for [i=1:n_ops] data using (intensity(0)):(any(0)):(number(i)) with labels \
         offset 1,-0.9 font ',10' notitle, \
     for [i=1:n_ops] keyentry with points linecolor rgb c(i) \
         pointtype filled[(i - 1) % 6 + 1] pointsize 1.4 title op_titles[i], \
     keyentry with points linecolor rgb '#FFFFFF' pointtype 7 pointsize 0.1 \
         title other_title, \
     keyentry with points linecolor rgb '#000000' pointtype 7 pointsize 1.6 title 'forward', \
     keyentry with points linecolor rgb '#000000' pointtype 6 pointsize 2.2 \
         title 'backward, again'
