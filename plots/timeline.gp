# One layer along time: a lane for each stream, a colour for each part of the step's time.
# Variables: streams[] (that occur), parts[], phases[], end_s.
unit_s = end_s >= 1 ? 1 : end_s >= 1e-3 ? 1e-3 : 1e-6
unit = unit_s == 1 ? 's' : unit_s == 1e-3 ? 'ms' : 'us'
# where each phase begins: the least start of its rows
array begins[n_phases]
do for [i=1:n_phases] {
    stats data using (strcol('phase') eq phases[i] ? column('start_s') / unit_s : NaN) nooutput
    begins[i] = STATS_min
}
set xlabel 'time (' . unit . ')'
set xrange [0:end_s / unit_s]
set yrange [n_streams + 0.5:0.5]
set ytics ()
set for [i=1:n_streams] ytics add (streams[i] i)
lane(unused) = sum [i=1:n_streams] (streams[i] eq strcol('stream') ? i : 0)
start(unused) = column('start_s') / unit_s
# what is too short to see still shows as a line
wide(s) = s > 0.006 * end_s ? s : 0.006 * end_s
end(unused) = start(0) + wide(column('duration_s')) / unit_s
lane_if(value) = strcol('part') eq value ? lane(0) : NaN
if (on_terminal) {
    plot for [i=1:n_parts] data using (start(0)):(lane_if(parts[i])) with points \
             pointtype letter(i) title parts[i].' starts'
    exit
}
set lmargin 15
unset grid
set style fill solid 0.9 border rgb '#FFFFFF'
set for [i=1:n_phases] arrow i from begins[i], graph 0 to begins[i], graph 1 nohead front \
    linecolor '#7F7F7F' dashtype 2
# phases that begin close to one another share a label
array named[n_phases]
do for [i=1:n_phases] {
    named[i] = phases[i]
    do for [k=1:i - 1] {
        if (begins[i] * unit_s > 0.9 * end_s) { named[i] = '' }
        if (strlen(named[i]) && strlen(named[k]) \
            && abs(begins[i] - begins[k]) * unit_s < 0.09 * end_s) {
            named[k] = named[k].', '.phases[i]
            named[i] = ''
        }
    }
}
set for [i=1:n_phases] label i + 1 named[i] at begins[i], graph 1 offset 0.4,0.6 left \
    textcolor '#555555'
set arrow 30 from end_s / unit_s, graph 0 to end_s / unit_s, graph 1 nohead front \
    linecolor '#000000'
set label 30 sprintf('%.4g %s', end_s / unit_s, unit) at end_s / unit_s, graph 1 \
    offset -0.4,0.6 right
# a name stands in its bar where it finds room
share(unused) = column('duration_s') / end_s
middle(unused) = start(0) + column('duration_s') / unit_s / 2
flat(unused) = share(0) > 0.012 * strlen(strcol('op')) ? strcol('op') : ''
# upright a lane is as long as so many letters
letters = 58 / n_streams
upright(unused) = flat(0) eq '' && share(0) > 0.016 && strlen(strcol('op')) <= letters \
    ? strcol('op') : ''
plot for [i=1:n_parts] data using (start(0)):(lane_if(parts[i])):(start(0)):(end(0)) \
         :(lane(0) - 0.42):(lane(0) + 0.42) \
         with boxxyerror fillcolor rgb part(parts[i]) title parts[i], \
     data using (middle(0)):(lane(0)):(flat(0)) with labels font ',10' textcolor '#000000' \
         notitle, \
     data using (middle(0)):(lane(0)):(upright(0)) with labels rotate by 90 font ',9' \
         textcolor '#000000' notitle
