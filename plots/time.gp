# What a step's time is made of: a stacked bar per row of the table, with the step's length and
# tokens per second and device above it.
# Variables: bars[] (a label per row), x_title, parts[] (columns), most_s,
# n_lacking (rows that do not fit).
unit_s = most_s >= 1 ? 1.0 : most_s >= 1e-3 ? 1e-3 : 1e-6
unit = unit_s == 1 ? 's' : unit_s == 1e-3 ? 'ms' : 'us'
set xlabel x_title
set ylabel 'step ('.unit.')'
set yrange [0:1.18 * most_s / unit_s]
set xrange [0.3:n_bars + 0.7]
set xtics ()
set for [i=1:n_bars] xtics add (bars[i] i)
longest = 0
do for [i=1:n_bars] { longest = strlen(bars[i]) > longest ? strlen(bars[i]) : longest }
x(unused) = column(0) + 1
there(unused) = strlen(strcol('step_s')) > 0
of(name) = there(0) ? column(name) / unit_s : 0
upto(i) = sum [k=1:i] of(parts[k])
rate(unused) = sprintf(column('tokens_per_s_per_device') < 10 ? '%.3g' : '%.0f', \
    column('tokens_per_s_per_device'))
amount(unused) = there(0) ? sprintf('%.3g', of('step_s')) : 'invalid'
if (on_terminal) {
    set ylabel
    plot for [i=1:n_parts] data using (x(0)):(upto(i)) with points pointtype letter(i) \
             title 'up to '.parts[i], \
         data using (x(0)):(of('step_s')):(amount(0)) with labels offset 0,1 notitle
    exit
}
fails(unused) = strcol('verdict') eq 'oom' ? "\nno room" : ''
said(unused) = there(0) ? amount(0).' '.unit."\n".rate(0).' tok/s'.fails(0) : amount(0)
set style fill solid 0.9 border rgb '#FFFFFF'
set boxwidth 0.72
if (longest > 60.0 / n_bars) { set xtics rotate by -30; set bmargin 9 }
set key title "tok/s: per device".(n_lacking > 0 ? "\nno room: does not fit" : '')
# the legend reads from the top of the bars downwards
plot for [i=n_parts:1:-1] data using (x(0)):(upto(i)) with boxes fillcolor rgb part(parts[i]) \
         title parts[i], \
     data using (x(0)):(of('step_s')):(said(0)) with labels font ',10' offset 0,1.9 notitle
