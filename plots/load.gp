# Rows per expert along a number (the exponent of a Zipf law); the fullest rank over the mean.
# Variables: x_key, overlay ('' or a CSV of published p10).
set xlabel x_key
set ylabel 'rows per expert of a step'
set yrange [0:*]
x(unused) = column(x_key)
array keys[3] = ['routing.rows_per_expert_max', 'routing.rows_per_expert_mean', \
                 'routing.rows_per_expert_p10']
array titles[3] = ['fullest expert', 'mean', '10th percentile']
ranks = 'routing.rank_imbalance'
if (on_terminal) {
    set ylabel
    plot for [i=1:3] data using (x(0)):(column(keys[i])) with points pointtype letter(i) \
         title titles[i]
    exit
}
set y2label 'fullest rank over the mean'
set y2range [1:*]
set y2tics
set border 11 linewidth 0.8
set rmargin 38
set key at screen 0.985, graph 1 right top
set macros
rows = "for [i=1:3] data using (x(0)):(column(keys[i])) with linespoints linecolor rgb c(i) \
    pointtype m(i) linewidth (2.6 - 0.6 * i) dashtype i title titles[i]"
imbalance = "data using (x(0)):(column(ranks)) axes x1y2 with linespoints linecolor rgb c(4) \
    pointtype m(4) dashtype 4 linewidth 1.6 title 'fullest rank (right axis)'"
seen = "overlay using (x(0)):(column(keys[3])) with points linecolor rgb '#000000' pointtype 6 \
    pointsize 2.6 linewidth 1.4 title 'published 10th percentile'"
if (overlay eq '') {
    plot @rows, @imbalance
} else {
    plot @rows, @imbalance, @seen
}
