# Memory of a rank against one number, one line per series; what does not fit is crossed out.
# Variables: x_key, x_title, series_key, series_key2, series_key3 ('' when unused), series[],
# limit_gib, capacity_gib, log_x, overlay ('' or a CSV with series,x,total_bytes,verdict of
# published runs).
set xlabel x_title
set ylabel 'memory of a rank (GiB)'
set yrange [0:*]
set offsets graph 0.02, graph 0.02, graph 0.08, 0
name_of(unused) = series_key2 eq '' ? strcol(series_key) : \
    series_key3 eq '' ? strcol(series_key).', '.strcol(series_key2) : \
    strcol(series_key).', '.strcol(series_key2).', '.strcol(series_key3)
of_series(s) = series_key eq '' ? 1 : name_of(0) eq s
verdict_is(v) = strcol('verdict') eq v
total(s) = of_series(s) && !verdict_is('invalid') ? column('total_bytes') / gib : NaN
total_if(s, v) = of_series(s) && verdict_is(v) ? column('total_bytes') / gib : NaN
c(i) = colour[(i - 1) % 8 + 1]
m(i) = mark[(i - 1) % 8 + 1]
if (log_x) { set logscale x 2 }
set arrow 1 from graph 0, first limit_gib to graph 1, first limit_gib nohead \
    front linecolor '#000000' linewidth 1.4
set label 2 sprintf('limit %.1f GiB', limit_gib) at graph 0.01, first limit_gib \
    offset 0,0.6 left front
if (capacity_gib > limit_gib) {
    set arrow 2 from graph 0, first capacity_gib to graph 1, first capacity_gib nohead front \
        linecolor '#7F7F7F' dashtype 2
}
x(unused) = column(x_key)
published(s, v) = strcol('series') eq s && strcol('verdict') eq v \
    ? column('total_bytes') / gib : NaN
if (on_terminal) {
    set key inside left top
    plot for [i=1:n_series] data using (x(0)):(total(series[i])) with linespoints \
        title series[i]
    exit
}
set macros
curves = "for [i=1:n_series] data using (x(0)):(total(series[i])) \
    with linespoints linecolor rgb c(i) pointtype m(i) pointsize 0.9 \
    linewidth 1.6 title series[i]"
walls = "for [i=1:n_series] data using (x(0)):(total_if(series[i], 'oom')) \
    with points linecolor rgb c(i) pointtype 2 pointsize 2 linewidth 2 notitle"
crosses = "keyentry with points linecolor rgb '#000000' pointtype 2 pointsize 1.6 \
    linewidth 2 title 'predicted: does not fit'"
ran = "for [i=1:n_series] overlay using (column('x')):(published(series[i], 'fits')) \
    with points linecolor rgb c(i) pointtype 65 pointsize 3 linewidth 1.2 notitle"
failed = "for [i=1:n_series] overlay using (column('x')):(published(series[i], 'oom')) \
    with points linecolor rgb c(i) pointtype 12 pointsize 3 linewidth 2 notitle"
circles = "keyentry with points linecolor rgb '#000000' pointtype 65 pointsize 2.4 \
    linewidth 1.2 title 'published: ran'"
diamonds = "keyentry with points linecolor rgb '#000000' pointtype 12 pointsize 2.4 \
    linewidth 2 title 'published: out of memory'"
if (overlay eq '') {
    plot @curves, @walls, @crosses
} else {
    plot @curves, @walls, @ran, @failed, @crosses, @circles, @diamonds
}
