# The ops of one layer along time: a row per op, forward, recompute and backward in it.
# Variables: ops[] (of the forward), phases[], end_s.
unit_s = end_s >= 1 ? 1 : end_s >= 1e-3 ? 1e-3 : 1e-6
# where each phase begins: the least start of its rows
array begins[n_phases]
do for [i=1:n_phases] {
    stats data using (strcol('phase') eq phases[i] ? column('start_s') / unit_s : NaN) nooutput
    begins[i] = STATS_min
}
set xlabel 'time (' . (unit_s == 1 ? 's' : unit_s == 1e-3 ? 'ms' : 'us') . ')'
set xrange [0:end_s / unit_s]
set yrange [n_ops + 0.6:0.4]
set ytics ()
set for [i=1:n_ops] ytics add (ops[i] i)
row(name) = sum [i=1:n_ops] (ops[i] eq name ? i : 0)
start(unused) = column('start_s') / unit_s
# what is too short to see still shows as a line
wide(s) = s > 0.002 * end_s ? s : 0.002 * end_s
end(unused) = start(0) + wide(column('duration_s')) / unit_s
y_if(key, value) = strcol(key) eq value ? row(strcol('forward_op')) : NaN
if (on_terminal) {
    first(p) = p eq 'forward' ? 'F' : p eq 'recompute' ? 'R' : p eq 'backward' ? 'B' : 'U'
    plot for [i=1:n_phases] data using (start(0)):(y_if('phase', phases[i])) with points \
             pointtype first(phases[i]) title phases[i].' starts'
    exit
}
set lmargin 18
set grid xtics ytics linetype 1 linewidth 0.4 linecolor '#DDDDDD'
set style fill solid 0.9 noborder
set for [i=2:n_phases] arrow i from begins[i], graph 0 to begins[i], graph 1 nohead back \
    linecolor '#7F7F7F' dashtype 2
set for [i=1:n_phases] label i + 1 phases[i] at begins[i], graph 1 offset 0.6,0.6 left \
    textcolor '#555555'
array bounds[3] = ['compute', 'memory', 'link']
array shades[3] = ['#0072B2', '#E69F00', '#D55E00']
array reasons[3] = ['bound by compute', 'bound by memory', 'bound by the link']
plot for [i=1:3] data using (start(0)):(y_if('bound', bounds[i])):(start(0)):(end(0)) \
         :(row(strcol('forward_op')) - 0.36):(row(strcol('forward_op')) + 0.36) \
         with boxxyerror fillcolor rgb shades[i] title reasons[i]
