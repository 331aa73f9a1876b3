# From one total to another: a bar per category that differs, from where the last one ended.
# Variables: bars[] (a label per bar), rows[] (its row of the table, from 0).
set ylabel 'memory of a rank (GiB)'
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set xrange [0.3:n_bars + 0.7]
set xtics ()
set for [i=1:n_bars] xtics add (term(bars[i]) i)
x(unused) = sum [i=1:n_bars] (column(0) == rows[i] + 0 ? i : 0)
shown(v) = x(0) > 0 ? v : NaN
begin(unused) = column('begin_bytes') / gib
end(unused) = column('end_bytes') / gib
high(unused) = end(0) > begin(0) ? end(0) : begin(0)
whole(unused) = strcol('kind') eq 'total'
digits(v) = abs(v) < 10 ? '%+.2g' : '%+.1f'
amount(unused) = whole(0) ? sprintf(end(0) < 10 ? '%.3g' : '%.1f', end(0)) \
    : sprintf(digits(end(0) - begin(0)), end(0) - begin(0))
if (on_terminal) {
    set ylabel
    plot data using (x(0)):(shown(end(0))) with points pointtype 'o' notitle, \
         data using (x(0)):(shown(high(0))):(amount(0)) with labels offset 0,1 notitle
    exit
}
set style fill solid 0.9 noborder
shade_of(n) = n eq 'A' || n eq 'B' ? '#4D4D4D' : category(n)
at(i) = column(0) == rows[i] + 0 ? i : NaN
longest = 0
length(i) = strlen(term(bars[i]))
do for [i=1:n_bars] { longest = length(i) > longest ? length(i) : longest }
if (longest > 110.0 / n_bars) { set xtics rotate by -30; set bmargin 9 }
plot for [i=1:n_bars] data using (at(i)):(begin(0)):(x(0) - 0.36) \
         :(x(0) + 0.36):(begin(0)):(end(0)) with boxxyerror \
         fillcolor rgb shade_of(bars[i]) notitle, \
     data using (x(0)):(shown(high(0))):(amount(0)) with labels offset 0,0.9 notitle
