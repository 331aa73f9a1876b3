# Share of rows dropped against the capacity factor.
# Variables: x_key.
set xlabel x_key
set ylabel 'rows dropped (%)'
set yrange [0:*]
x(unused) = column(x_key)
mean(unused) = 100 * column('routing.drop_fraction')
p99(unused) = 100 * column('routing.drop_fraction_p99')
if (on_terminal) {
    set ylabel
    plot data using (x(0)):(p99(0)) with points pointtype letter(2) \
             title '99th percentile (%)', \
         data using (x(0)):(mean(0)) with points pointtype letter(1) title 'expected (%)'
    exit
}
plot data using (x(0)):(mean(0)) with linespoints linecolor rgb c(1) pointtype m(1) \
         linewidth 1.6 title 'expected', \
     data using (x(0)):(p99(0)) with linespoints linecolor rgb c(2) pointtype m(2) dashtype 2 \
         linewidth 1.6 title '99th percentile'
