# Padding and FLOP per byte of weights against the block size; the ridge of the device.
# Variables: ridge (0: not known).
set logscale x 2
set xlabel 'rows of a block'
set ylabel 'rows computed over rows needed'
set yrange [1:*]
x(unused) = column('block_size')
set offsets graph 0.02, graph 0.02, graph 0.06, 0
if (on_terminal) {
    set ylabel
    plot data using (x(0)):(column('padding')) with points pointtype letter(1) \
         title 'rows computed over rows needed'
    exit
}
set logscale y2 2
set y2label 'FLOP per byte of weights'
set y2tics
set border 11 linewidth 0.8
set rmargin 38
set key at screen 0.985, graph 1 right top
set macros
curves = "data using (x(0)):(column('padding')) with linespoints linecolor rgb c(1) \
    pointtype m(1) linewidth 1.6 title 'padding (left axis)', \
    data using (x(0)):(column('aif')) axes x1y2 with linespoints linecolor rgb c(2) \
    pointtype m(2) linewidth 1.6 title 'intensity (right axis)'"
if (ridge > 0) {
    plot @curves, data using (x(0)):(ridge) axes x1y2 with lines linecolor rgb '#000000' \
        dashtype 2 title sprintf('ridge %.0f FLOP/B (right)', ridge)
} else {
    plot @curves
}
