# Layouts by memory and speed: the fastest as points, those that no other beats as a line, one
# for each number of devices.
# Variables: devices[] (''; or the numbers), by_devices, limit_gib, least_limit_gib (of layouts
# that have less), fastest, labelled[] (rows of the table, from 0), label_words[] (what stands
# at them), label_titles[].
set xlabel 'memory of a rank (GiB)'
set ylabel 'tokens/s per device'
set yrange [0:1.08 * fastest]
set datafile missing NaN
mine(d) = !by_devices || strcol('devices') eq d
gib_of(unused) = column('total_bytes') / gib
rate(unused) = 1.0 / column('device_s_per_token')
y(d, l) = mine(d) && strcol('list') eq l ? rate(0) : NaN
named(d) = by_devices ? d.' devices' : 'Pareto set'
if (on_terminal) {
    set ylabel
    plot for [i=1:n_devices] data using (gib_of(0)):(y(devices[i], 'pareto')) with points \
             pointtype letter(i) title named(devices[i])
    exit
}
stats data using (gib_of(0)) name 'held' nooutput
most = held_max > limit_gib ? held_max : limit_gib
# doublings would leave one or two marks on an axis that is shorter than three of them
if (most > 8 * held_min) {
    set logscale x 2
    set xrange [held_min / 1.3:most * 1.15]
} else {
    set xrange [held_min - 0.1 * (most - held_min):most + 0.1 * (most - held_min)]
}
set arrow 1 from limit_gib, graph 0 to limit_gib, graph 1 nohead back linecolor '#000000' \
    linewidth 1.4
limits_differ = least_limit_gib < limit_gib
if (limits_differ) {
    set arrow 2 from least_limit_gib, graph 0 to least_limit_gib, graph 1 nohead back \
        linecolor '#000000' linewidth 1.4 dashtype 2
}
# a point that is not there lies below the picture
other(d) = mine(d) && strcol('list') eq 'best' ? rate(0) : -1
number(i) = column(0) == labelled[i] + 0 ? label_words[i] : ''
set macros
labels = "NaN notitle"
limits = "NaN notitle"
if (limits_differ) {
    limits = "keyentry with lines linecolor rgb '#000000' linewidth 1.4 dashtype 2 \
        title sprintf('limit of other layouts %.1f GiB', least_limit_gib)"
}
if (n_labelled > 0) {
    labels = "for [i=1:n_labelled] data using (gib_of(0)):(rate(0)):(number(i)) with labels \
        offset 0.9,-0.8 font ',10' notitle, \
        for [i=1:n_labelled] keyentry with points linecolor rgb '#FFFFFF' pointtype 7 \
        pointsize 0.1 title label_titles[i]"
    # below the picture: a layout has more words than there is room beside it
    set key at screen 0.05, screen 0.035 left bottom vertical maxcols 1 spacing 1 font ',10'
    set bmargin 6 + 0.75 * (n_labelled + n_devices + 2 + limits_differ)
}
plot for [i=1:n_devices] data using (gib_of(0)):(y(devices[i], 'pareto')) with steps \
         linecolor rgb c(i) linewidth 1.4 notitle, \
     for [i=1:n_devices] data using (gib_of(0)):(y(devices[i], 'pareto')) with points \
         linecolor rgb c(i) pointtype m(i) pointsize 1.3 title named(devices[i]), \
     for [i=1:n_devices] data using (gib_of(0)):(other(devices[i])) with points \
         linecolor rgb c(i) pointtype 6 pointsize 1.9 notitle, \
     keyentry with points linecolor rgb '#7F7F7F' pointtype 6 pointsize 1.9 \
         title 'among the fastest', \
     keyentry with lines linecolor rgb '#000000' linewidth 1.4 \
         title sprintf('limit %.1f GiB', limit_gib), \
     @limits, @labels
