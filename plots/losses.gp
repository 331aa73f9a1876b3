# Loss against hours, a line for each run.
# Variables: runs[], run_titles[].
set xlabel 'hours'
set ylabel 'loss'
set datafile missing NaN
set xrange [0:*]
set offsets 0, graph 0.05, graph 0.3, graph 0.08
y(i) = strcol('name') eq runs[i] ? column('loss') : NaN
if (on_terminal) {
    set ylabel
    plot for [i=1:n_runs] data using (column('hours')):(y(i)) with points pointtype letter(i) \
             title run_titles[i]
    exit
}
set key inside right top
plot for [i=1:n_runs] data using (column('hours')):(y(i)) with linespoints linecolor rgb c(i) \
         pointtype m(i) dashtype dash(i) linewidth 1.6 pointsize 1.3 title run_titles[i]
