# Pairs of layouts of two pools: tokens/s of a device against the time of further tokens and of
# the first one; the Pareto set of all three as marks, each with its numbers of servers.
# Variables: devices[] (numbers; '0' of any), has_plan, fastest, labelled[] (rows of the table,
# from 0), label_titles[], tpot_words[], ttft_words[] (what stands at them).
set ylabel 'tokens/s per device'
set datafile missing NaN
rate(unused) = column('tokens_per_s_per_device')
tpot(unused) = 1e3 * column('tpot_s')
ttft(unused) = 1e3 * column('ttft_s')
listed(d, l) = strcol('devices') eq d && strcol('list') eq l ? rate(0) : NaN
# a point that is not there lies below the picture
other(d, l) = strcol('devices') eq d && strcol('list') eq l ? rate(0) : -1
named(d) = d eq '0' ? 'Pareto set' : 'at most '.d.' devices'
if (on_terminal) {
    set ylabel
    set yrange [0:1.12 * fastest]
    set xrange [0:*]
    set xlabel 'ms per further token'
    plot for [i=1:n_devices] data using (tpot(0)):(listed(devices[i], 'pareto')) with points \
             pointtype letter(i) title named(devices[i])
    exit
}
set macros
# below the picture: a pair has more words than there is room beside it
set key at screen 0.05, screen 0.045 left bottom vertical maxcols 1 spacing 1 font ',10'
set multiplot
set bmargin at screen 0.13 + 0.021 * (n_labelled + n_devices + 2)
set tmargin at screen 0.92
at_tpot(i) = column(0) == labelled[i] + 0 ? tpot_words[i] : ''
at_ttft(i) = column(0) == labelled[i] + 0 ? ttft_words[i] : ''
words_tpot = "NaN notitle"
words_ttft = "NaN notitle"
lines = "NaN notitle"
if (n_labelled > 0) {
    words_tpot = "for [i=1:n_labelled] data using (tpot(0)):(rate(0)):(at_tpot(i)) with labels \
        offset 0,0.9 font ',10' notitle"
    words_ttft = "for [i=1:n_labelled] data using (ttft(0)):(rate(0)):(at_ttft(i)) with labels \
        offset 0,0.9 font ',10' notitle"
    lines = "for [i=1:n_labelled] keyentry with points linecolor rgb '#FFFFFF' pointtype 7 \
        pointsize 0.1 title label_titles[i]"
}
plan_title = "notitle"
if (has_plan) {
    plan_title = "title 'the plan as it is'"
}
stats data using (tpot(0)) name 'further' nooutput
stats data using (ttft(0)) name 'begin' nooutput
set yrange [0:1.12 * fastest] # stats would look at what is in it alone
set lmargin at screen 0.085
set rmargin at screen 0.52
set xlabel 'ms per further token'
# doublings would leave one or two marks on an axis that is shorter than three of them
if (further_max > 8 * further_min) {
    set logscale x 2
    set xrange [further_min / 1.5:further_max * 1.5]
} else {
    set xrange [0:1.12 * further_max]
}
plot for [i=1:n_devices] data using (tpot(0)):(other(devices[i], 'best')) with points \
         linecolor rgb c(i) pointtype 6 pointsize 1.9 notitle, \
     for [i=1:n_devices] data using (tpot(0)):(other(devices[i], 'pareto')) with points \
         linecolor rgb c(i) pointtype m(i) pointsize 1.3 title named(devices[i]), \
     data using (tpot(0)):(other('0', 'plan')) with points linecolor rgb '#000000' \
         pointtype 2 pointsize 1.8 linewidth 1.6 @plan_title, \
     keyentry with points linecolor rgb '#7F7F7F' pointtype 6 pointsize 1.9 \
         title 'among the best; numbers are servers that prefill + that decode', \
     @lines, @words_tpot
unset label 1
unset label 99
unset key
unset ylabel
unset logscale x
set format y ''
set lmargin at screen 0.55
set rmargin at screen 0.985
set xlabel 'ms to the first token'
if (begin_max > 8 * begin_min) {
    set logscale x 2
    set xrange [begin_min / 1.5:begin_max * 1.5]
} else {
    set xrange [0:1.12 * begin_max]
}
plot for [i=1:n_devices] data using (ttft(0)):(other(devices[i], 'best')) with points \
         linecolor rgb c(i) pointtype 6 pointsize 1.9 notitle, \
     for [i=1:n_devices] data using (ttft(0)):(other(devices[i], 'pareto')) with points \
         linecolor rgb c(i) pointtype m(i) pointsize 1.3 notitle, \
     data using (ttft(0)):(other('0', 'plan')) with points linecolor rgb '#000000' \
         pointtype 2 pointsize 1.8 linewidth 1.6 notitle, \
     @words_ttft
unset multiplot
