# Ops under the device's roofs, both axes logarithmic.
# Variables: ops[] (with FLOPs, of the forward), peak (FLOP/s), bandwidth (bytes/s).
ridge = peak / bandwidth
tera = 1e12
set logscale xy
set format x '%g'
set format y '%g'
set xlabel 'FLOP per byte moved'
set ylabel 'attainable TFLOP/s'
roof(x) = (x < ridge ? x * bandwidth : peak) / tera
intensity(unused) = column('flop_per_byte')
is_op(i, p) = strcol('forward_op') eq ops[i] && strcol('phase') eq p && intensity(0) > 0
y(i, p) = is_op(i, p) ? column('roof_flop_per_s') / tera : NaN
stats data using (intensity(0) > 0 ? intensity(0) : NaN) name 'seen' nooutput
lowest = seen_min < ridge / 10 ? seen_min / 2 : ridge / 10
highest = seen_max > ridge * 10 ? seen_max * 2 : ridge * 10
set xrange [lowest:highest]
set samples 2000
set xtics ()
set for [e=-3:9] xtics add (sprintf('%g', 10.0 ** e) 10.0 ** e, \
    sprintf('%g', 3 * 10.0 ** e) 3 * 10.0 ** e)
set ytics ()
set for [e=-6:6] ytics add (sprintf('%g', 10.0 ** e) 10.0 ** e, \
    sprintf('%g', 3 * 10.0 ** e) 3 * 10.0 ** e)
set yrange [roof(lowest) * 0.8:peak / tera * 2]
if (on_terminal) {
    set samples 90
    set ylabel
    plot roof(x) with points pointtype '.' title sprintf('roof, ridge %.0f FLOP/B', ridge), \
         for [i=1:n_ops] data using (intensity(0)):(y(i, 'forward')) with points \
             pointtype letter(i) title ops[i]
    exit
}
array filled[6] = [7, 5, 9, 11, 13, 15]
array open[6] = [6, 4, 8, 10, 12, 14]
set grid xtics ytics linetype 1 linewidth 0.4 linecolor '#DDDDDD'
set arrow 1 from ridge, graph 0 to ridge, peak / tera nohead back linecolor '#7F7F7F' dashtype 2
plot roof(x) with lines linecolor rgb '#000000' linewidth 1.8 \
         title sprintf('%.0f TFLOP/s, %.2f TB/s', peak / tera, bandwidth / tera), \
     keyentry with lines linecolor rgb '#7F7F7F' dashtype 2 \
         title sprintf('ridge %.0f FLOP/B', ridge), \
     for [i=1:n_ops] data using (intensity(0)):(y(i, 'forward')) with points \
         linecolor rgb c(i) pointtype filled[(i - 1) % 6 + 1] pointsize 1.6 title ops[i], \
     for [i=1:n_ops] data using (intensity(0)):(y(i, 'backward')) with points \
         linecolor rgb c(i) pointtype open[(i - 1) % 6 + 1] pointsize 2.2 linewidth 1.4 \
         notitle, \
     keyentry with points linecolor rgb '#000000' pointtype 7 pointsize 1.6 title 'forward', \
     keyentry with points linecolor rgb '#000000' pointtype 6 pointsize 2.2 title 'backward'
