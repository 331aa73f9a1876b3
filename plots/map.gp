# Frontier map: two keys, the verdict as colour, GiB in the cells.
# Variables: x_key, x_title, x_values[], y_key, y_title, y_values[], verdicts[] (those that
# occur), skipped (values without a point that obeys the rules, or '').
set xlabel x_title
set ylabel y_title
set style fill solid 1 noborder
unset grid
x_of(value) = sum [i=1:n_x_values] (x_values[i] eq value ? i : 0)
y_at(value) = sum [i=1:n_y_values] (y_values[i] eq value ? i : 0)
cell_x(unused) = x_of(strcol(x_key))
cell_y(unused) = y_at(strcol(y_key))
set xrange [0.5:n_x_values + 0.5]
set yrange [0.5:n_y_values + 0.5]
# every n-th tick where there is no room for all
x_step = ceil(n_x_values / (on_terminal ? 16.0 : 32.0))
y_step = ceil(n_y_values / (on_terminal ? 20.0 : 40.0))
set xtics ()
set ytics ()
set for [i=1:n_x_values:x_step] xtics add (x_values[i] i)
set for [i=1:n_y_values:y_step] ytics add (y_values[i] i)
verdict(unused) = strcol('verdict')
shown(unused) = cell_x(0) > 0 && cell_y(0) > 0
y_if(v) = verdict(0) eq v && shown(0) ? cell_y(0) : NaN
in_gib(unused) = column('total_bytes') / gib
amount(unused) = sprintf(in_gib(0) < 10 ? '%.2g' : '%.0f', in_gib(0))
if (on_terminal) {
    sign_of(v) = v eq 'fits' ? '.' : v eq 'marginal' ? '~' : v eq 'oom' ? 'X' : ' '
    wide = n_x_values <= 12
    text(unused) = verdict(0) eq 'invalid' ? '' : wide ? amount(0).sign_of(verdict(0)) \
        : sign_of(verdict(0))
    set ylabel
    set label 3 '. fits   ~ marginal   X does not fit   blank: breaks a rule' \
        at screen 0.5, screen 0.02 center
    set bmargin 5
    if (strlen(skipped)) { set label 97 skipped at screen 0.5, screen 0.05 center }
    plot data using (cell_x(0)):(shown(0) ? cell_y(0) : NaN):(text(0)) with labels notitle
    exit
}
if (strlen(skipped)) {
    set label 97 skipped at screen 0.012, screen 0.045 left font ',10' textcolor '#333333'
    set bmargin 6.2
}
label_of(unused) = verdict(0) eq 'invalid' ? '' : amount(0)
largest = n_x_values > n_y_values ? n_x_values : n_y_values
font_size = largest > 32 ? 5 : largest > 20 ? 7 : 11
labelled = largest <= 40
set macros
cells = "for [i=1:n_verdicts] data using (cell_x(0)):(y_if(verdicts[i])):(0.48):(0.48) \
    with boxxyerror linecolor rgb shade(verdicts[i]) title meaning(verdicts[i])"
numbers = "data using (cell_x(0)):(shown(0) ? cell_y(0) : NaN):(label_of(0)) with labels \
    font sprintf(',%d', font_size) notitle"
if (labelled) {
    plot @cells, @numbers
} else {
    plot @cells
}
