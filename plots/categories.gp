# What the memory of a rank holds: a stacked bar per row of the table.
# Variables: bars[] (a label per row), x_title, parts[] and others[] (columns; the latter are
# one part), limits[], limit_titles[], any_oom (0 or 1).
set xlabel x_title
set ylabel 'memory of a rank (GiB)'
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set xrange [0.3:n_bars + 0.7]
set xtics ()
set for [i=1:n_bars] xtics add (bars[i] i)
longest = 0
do for [i=1:n_bars] { longest = strlen(bars[i]) > longest ? strlen(bars[i]) : longest }
x(unused) = column(0) + 1
gib_of(name) = strlen(stringcolumn(name)) ? column(name) / gib : 0
rest(unused) = n_others ? (sum [k=1:n_others] gib_of(others[k])) : 0
level(i) = limits[i] + 0.0
upto(i) = sum [k=1:i] gib_of(parts[k])
state(unused) = strcol('verdict') eq 'oom' ? ' x' : ''
amount(unused) = strcol('verdict') eq 'invalid' ? 'invalid' \
    : sprintf(gib_of('total_bytes') < 10 ? '%.2g%s' : '%.0f%s', gib_of('total_bytes'), state(0))
# bars far below the limit would not be seen beside it: its line is then above the picture
stats data using (gib_of('total_bytes')) name 'bars' nooutput
far = n_limits > 0 && bars_max > 0 && bars_max < 0.1 * level(1)
if (on_terminal) {
    set ylabel
    set for [i=1:n_limits] arrow i from graph 0, first level(i) to graph 1, first level(i) \
        nohead front
    plot for [i=1:n_parts] data using (x(0)):(upto(i)) with points pointtype letter(i) \
             title 'up to '.term(parts[i]), \
         data using (x(0)):(gib_of('total_bytes')):(amount(0)) with labels offset 0,1 notitle, \
         for [i=1:n_limits] keyentry with points pointtype '-' title limit_titles[i], \
         for [i=1:any_oom] keyentry with points pointtype 'x' title 'does not fit'
    exit
}
set style fill solid 0.9 border rgb '#FFFFFF'
set style textbox opaque noborder fillcolor rgb '#FFFFFF'
set boxwidth 0.72
if (longest > 60.0 / n_bars) { set xtics rotate by -30; set bmargin 9 }
set macros
# the legend reads from the top of the bars downwards
bars_of = "for [i=n_parts:1:-1] data using (x(0)):(upto(i)) with boxes \
    fillcolor rgb category(parts[i]) title term(parts[i])"
other = "data using (x(0)):(upto(n_parts) + rest(0)) with boxes fillcolor rgb '#BBBBBB' \
    title 'other'"
if (far) { set yrange [0:1.15 * bars_max] }
lines = "for [i=1:n_limits] level(i) with lines linecolor rgb '#000000' linewidth 1.4 \
    dashtype i title limit_titles[i].(far ? ', above' : '')"
if (n_limits > 1) {
    lines = "data using (x(0) - 0.45):(strlen(strcol('limit_bytes')) ? \
        column('limit_bytes') / gib : NaN):(0.9):(0) with vectors nohead \
        linecolor rgb '#000000' linewidth 1.8 title 'limit of each bar'"
}
totals = "data using (x(0)):(gib_of('total_bytes')):(amount(0)) with labels boxed offset 0,0.9 \
    notitle"
if (any_oom) {
    totals = totals.", keyentry with points pointtype 2 linecolor rgb '#000000' \
        title 'does not fit'"
}
if (n_others > 0) {
    plot @other, @bars_of, @lines, @totals
} else {
    plot @bars_of, @lines, @totals
}
