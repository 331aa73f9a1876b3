# Memory of a rank against one number, one line per series; what does not fit is crossed out.
# Variables: x_key, x_title, x_values[] (empty when x is a number), series_key, series_key2,
# series_key3 ('' when unused), series[], series_title, verdicts[] (those that occur), limits[],
# limit_titles[], capacity_gib, log_x,
# same[] (per series: the one that it lies on, or ''), any_invalid, top_gib (where the picture
# is cut; 0: nowhere), overlay ('' or a CSV of published runs: the same keys,
# verdict, total_bytes), any_ran, any_failed (of those).
set xlabel x_title
set ylabel 'memory of a rank (GiB)'
set yrange [0:*]
# a line goes on over points of other series, and over those that break a rule: they are marked
set datafile missing NaN
set autoscale xfix
set offsets graph 0.03, graph 0.03, graph (top_gib > 0 ? 0 : 0.06), 0
name_of(unused) = series_key2 eq '' ? strcol(series_key) : \
    series_key3 eq '' ? strcol(series_key).', '.strcol(series_key2) : \
    strcol(series_key).', '.strcol(series_key2).', '.strcol(series_key3)
of_series(s) = series_key eq '' ? 1 : name_of(0) eq s
verdict_is(v) = strcol('verdict') eq v
fitting(s) = of_series(s) && (verdict_is('fits') || verdict_is('marginal')) \
    ? column('total_bytes') / gib : NaN
total(s) = of_series(s) && !verdict_is('invalid') ? column('total_bytes') / gib : NaN
# points that are not there lie below the picture: gnuplot complains of a set without any
total_if(s, v) = of_series(s) && verdict_is(v) ? column('total_bytes') / gib : -1
fits_or_below(s) = fitting(s) >= 0 ? fitting(s) : -1
above(s) = of_series(s) && !verdict_is('invalid') && total(s) > top_gib ? top_gib : -1
named = n_x_values > 0
place_of(name) = sum [i=1:n_x_values] (x_values[i] eq name ? i : 0)
x(unused) = named ? place_of(strcol(x_key)) : column(x_key)
if (named) {
    set xtics ()
    set for [i=1:n_x_values] xtics add (x_values[i] i)
    set xrange [0.5:n_x_values + 0.5]
}
# no marks between whole numbers that stand close together
if (!named && !log_x) {
    stats data using (x(0)) name 'across' nooutput
    stats data using (x(0) - floor(x(0))) name 'parts' nooutput
    whole = parts_max == 0 && across_max - across_min <= 12
    if (whole) { set xtics 1 }
    if (whole && across_max == across_min) { set xrange [across_min - 1:across_max + 1] }
}
if (log_x) { set logscale x 2 }
if (top_gib > 0) { set yrange [0:1.02 * top_gib] }
any_oom = 0
do for [i=1:n_verdicts] { if (verdicts[i] eq 'oom') { any_oom = 1 } }
level(i) = limits[i] + 0.0
# the limit is in sight but where everything is far below it: its title says so there
highest = capacity_gib
do for [i=1:n_limits] { if (level(i) > highest) { highest = level(i) } }
stats data using (verdict_is('invalid') ? NaN : column('total_bytes') / gib) name 'all' nooutput
sight = top_gib > 0 ? top_gib : all_max > highest / 3 && all_max < highest ? highest : all_max
if (top_gib == 0 && sight > all_max) { set yrange [0:1.06 * sight] }
hidden(gib_) = gib_ > 1.06 * sight ? ' (above)' : ''
limit_title(i) = limit_titles[i].hidden(level(i))
set for [i=1:n_limits] arrow i from graph 0, first level(i) to graph 1, first level(i) \
    nohead front linecolor '#000000' linewidth 1.4 dashtype i
if (on_terminal) {
    set ylabel
    plot for [i=1:n_series] data using (x(0)):(fits_or_below(series[i])) with points \
             pointtype letter(i) title series[i], \
         for [i=1:n_series] data using (x(0)):(total_if(series[i], 'oom')) with points \
             pointtype capital(i) notitle, \
         for [i=1:(top_gib > 0 ? n_series : 0)] data using (x(0)):(above(series[i])) \
             with points pointtype '^' notitle, \
         for [i=1:any_invalid] data using (x(0)):(verdict_is('invalid') ? 0 : -1) \
             with points pointtype '?' title 'breaks a rule', \
         keyentry with points pointtype 'A' title 'capital: does not fit', \
         for [i=1:(top_gib > 0 ? 1 : 0)] keyentry with points pointtype '^' \
             title 'more than shown', \
         for [i=1:n_limits] keyentry with points pointtype '-' title limit_title(i)
    exit
}
if (capacity_gib > 0) {
    set arrow 20 from graph 0, first capacity_gib to graph 1, first capacity_gib nohead front \
        linecolor '#8F8F8F' linewidth 1.2 dashtype '.. '
}
set key title series_title
if (n_series > 20) { set key font ',9' spacing 0.9 }
# one that lies on another lets it be seen
drawn(i) = strlen(same[i]) ? 2 : dash(i)
titled(i) = strlen(same[i]) ? series[i].' (as '.same[i].')' : series[i]
set macros
curves = "for [i=1:n_series] data using (x(0)):(total(series[i])) \
    with linespoints linecolor rgb c(i) pointtype m(i) pointsize 0.9 \
    linewidth 1.6 dashtype drawn(i) title titled(i)"
points = "for [i=1:n_series] data using (x(0)):(total(series[i])) \
    with points linecolor rgb c(i) pointtype m(i) pointsize 1.4 title series[i]"
walls = "for [i=1:n_series] data using (x(0)):(total_if(series[i], 'oom')) \
    with points linecolor rgb c(i) pointtype 2 pointsize 2 linewidth 2 notitle"
crosses = "NaN notitle"
if (any_oom) {
    crosses = "keyentry with points linecolor rgb '#000000' pointtype 2 pointsize 1.6 \
        linewidth 2 title 'predicted: does not fit'"
}
if (named) { curves = points }
if (top_gib > 0) {
    walls = walls.", for [i=1:n_series] data using (x(0)):(above(series[i])) with points \
        linecolor rgb c(i) pointtype 9 pointsize 2 notitle"
    crosses = crosses.", keyentry with points linecolor rgb '#000000' pointtype 9 \
        pointsize 1.6 title 'more than shown'"
}
if (any_invalid) {
    walls = walls.", data using (x(0)):(verdict_is('invalid') ? 0 : -1) with points \
        linecolor rgb '#8F8F8F' pointtype 1 pointsize 1.2 linewidth 1.4 notitle"
    crosses = crosses.", keyentry with points linecolor rgb '#8F8F8F' pointtype 1 \
        pointsize 1.2 linewidth 1.4 title 'breaks a rule'"
}
if (named && n_series == 1) {
    set style fill solid 1 border rgb '#666666'
    amount(v) = sprintf(top_gib > 0 && v > top_gib ? '%.0f (cut)' : v < 10 ? '%.2g' : '%.0f', v)
    stats data using (total(series[1])) name 'shown' nooutput
    high = top_gib > 0 ? top_gib : 1.1 * (sight > shown_max ? sight : shown_max)
    set yrange [0:high]
    curves = "for [i=1:n_verdicts] data using (x(0)):(total_if(series[1], verdicts[i])) \
        :(0.6) with boxes linecolor rgb shade(verdicts[i]) title meaning(verdicts[i])"
    walls = "data using (x(0)):(0.03 * high):(amount(total(series[1]))) with labels notitle"
    crosses = "NaN notitle"
}
levels = "for [i=1:n_limits] keyentry with lines linecolor rgb '#000000' linewidth 1.4 \
    dashtype i title limit_title(i)"
device = "keyentry with lines linecolor rgb '#8F8F8F' linewidth 1.2 dashtype '.. ' \
    title sprintf('device %.1f GiB', capacity_gib).hidden(capacity_gib)"
ran = "overlay using (x(0)):(verdict_is('fits') ? column('total_bytes') / gib : -1) \
    with points linecolor rgb '#000000' pointtype 6 pointsize 2.8 linewidth 1.2 \
    title 'published: ran'"
failed = "for [i=1:n_series] overlay using (x(0)):(total_if(series[i], 'oom')) \
    with points linecolor rgb c(i) pointtype 12 pointsize 2.8 linewidth 2.4 notitle, \
    keyentry with points linecolor rgb '#000000' pointtype 12 pointsize 2.4 \
    linewidth 2.4 title 'published: out of memory'"
keys = capacity_gib > 0 ? levels.', '.device : levels
if (any_ran) { keys = ran.', '.keys }
if (any_failed) { keys = failed.', '.keys }
plot @curves, @walls, @crosses, @keys
